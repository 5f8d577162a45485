package config

//go:generate go run isospin/tools/optiondoc ../../docs/reference/options.md
