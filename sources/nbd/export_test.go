package nbd

import "syscall"

// Kill ends the command as a crash would.
func (s *Served) Kill() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL); <-s.gone }
