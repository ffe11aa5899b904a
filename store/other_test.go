package store_test

var acts = map[string]func(dir string) error{}
