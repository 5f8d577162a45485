package refdoc

//go:generate go run isospin/tools/apidoc -dir ../../../docs/reference
