package fault

//go:generate go run isospin/tools/faultgen -in catalogue.txt -go catalogue_gen.go -doc ../../docs/reference/faults.md
