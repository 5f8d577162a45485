# `make test` is everything that a change is judged by; CONTRIBUTING.md says what each part is for.
SHELL := /bin/bash -euo pipefail
.SHELLFLAGS := -c
.NOTPARALLEL:
.DEFAULT_GOAL := build

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
export GOFLAGS ?= -buildvcs=false
export LC_ALL  := C.UTF-8

# Packages that have tests behind a build tag.
tagged = $(shell grep -rl --include='*_test.go' '^//go:build $(1)$$' . | xargs -r -n1 dirname | sort -u)

# Packages whose tests run in the virtual machine: drivers of what the kernels of containers lack in part.
vm_packages = $(addprefix ./internal/dataplane/,link addr route netns bridge vlan vxlan fdb neigh nft) ./internal/agent/feature/sgnft

.PHONY: build setup demo test quick integration conformance vm bench bench-peer bench-wire soak lint generate clean

build: ## bin/isospin, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/isospin ./cmd/isospin

setup: ## what the tests need of Debian
	./tools/setup.sh test

demo: ## a cloud on this machine, told and drawn; leaves nothing behind
	./tools/setup.sh demo
	$(MAKE) build
	./tools/demo.sh

test: ## everything, one after the other
	$(MAKE) setup
	$(MAKE) quick
	$(MAKE) integration
	$(MAKE) conformance

quick: ## units, store, lab; at most 10 minutes
	$(GO) vet ./...
	$(GO) test -timeout 10m ./...

integration: build ## tests that take long or need databases and daemons
	$(GO) test -tags integration -p 1 -timeout 30m $(call tagged,integration)

conformance: build ## real clients against the whole, on every store
	$(GO) test -tags conformance -p 1 -timeout 40m $(call tagged,conformance)

vm: build ## drivers, and labs with every mechanism, under Debian's full kernel in a virtual machine (emulated: minutes)
	./tools/setup.sh vm
	./tools/vm-kernel.sh
	CGO_ENABLED=0 $(GO) build -o bin/vm ./test/vm
	$(GO) test -tags vm ./test/vm -kernel "$${XDG_CACHE_HOME:-$$HOME/.cache}/isospin/vm-kernel"
	GO="$(GO)" ./tools/vm-drivers.sh $(vm_packages)
	ISOSPIN_BINARY="$(CURDIR)/bin/isospin" $(GO) test -tags vm -v -timeout 60m -exec "$(CURDIR)/bin/vm -limit 60m" ./test/vmlab

bench: ## figures of the API: bin/isospin on this machine
	./tools/setup.sh bench
	$(MAKE) build
	./tools/bench.sh isospin

bench-peer: ## the same of Neutron (installs it), for the ratio
	./tools/setup.sh bench
	./tools/bench.sh neutron

bench-wire: build ## from binding to first ping, Isospin and then Neutron with its Open vSwitch agent
	./tools/setup.sh bench
	./tools/wirebench.sh isospin
	./tools/wirebench.sh neutron

soak: ## the API under load until SOAK (10m) has passed
	./tools/setup.sh bench
	$(MAKE) build
	./tools/bench.sh soak

lint: ## what the compiler does not see
	@test -z "$$(gofmt -l cmd internal isospintest test tools 2>/dev/null)" || { gofmt -l cmd internal isospintest test tools 2>/dev/null; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

generate: ## everything that is generated; the protocol needs protoc
	$(GO) generate ./...

clean:
	rm -rf bin
