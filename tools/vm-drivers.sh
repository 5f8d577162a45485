#!/bin/bash
# vm-drivers.sh PACKAGE...: tests packages (./internal/dataplane/link), those with the tag vm too, under the full kernel, one
# after the other in one virtual machine. bin/vm must be built.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${GO:-go}" test -c -tags vm -o "$work/" "$@"
bin/vm sh -c '
	work=$1 top=$PWD failed=0
	shift
	for package; do
		cd "$top/$package" && "$work/$(basename "$package").test" -test.timeout 20m && echo "ok   $package" && continue
		echo "FAIL $package"
		failed=1
	done
	exit $failed
' sh "$work" "$@"
