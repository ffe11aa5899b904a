#!/bin/sh
# The power button: what a graceful shutdown asks for.
exec poweroff
