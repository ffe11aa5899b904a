#!/bin/sh
# Says what this guest found itself running on, one "name: value" a line.
driver() { basename "$(readlink "$1" 2>/dev/null)"; }
echo "Content-Type: text/plain"
echo
echo "kernel: $(uname -r)"
echo "root: $(awk '$2 == "/" && $1 ~ /^\/dev/ {print $1}' /proc/mounts)"
if [ -d /sys/firmware/efi ]; then echo "firmware: efi"; else echo "firmware: bios"; fi
echo "nic: $(driver /sys/class/net/eth0/device/driver)"
echo "mac: $(cat /sys/class/net/eth0/address)"
