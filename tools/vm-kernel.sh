#!/bin/bash
# vm-kernel.sh: gets Debian's full kernel for test/vm into a folder of the cache, without installing it on this machine.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
dir=${XDG_CACHE_HOME:-$HOME/.cache}/isospin/vm-kernel
[ ! -e "$dir/vmlinuz" ] || exit 0
mkdir -p "$(dirname "$dir")"
work=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
package=$(apt-cache depends linux-image-amd64 | awk '/Depends:/ {print $2; exit}')
[ -n "$package" ] || { echo "vm-kernel.sh: apt knows no linux-image-amd64; apt-get update?" >&2; exit 1; }
(cd "$work" && apt-get download -q "$package" && dpkg-deb -x "$package"_*.deb root)
version=${package#linux-image-}
mkdir -p "$work/kernel/lib/modules"
cp "$work/root/boot/vmlinuz-$version" "$work/kernel/vmlinuz.part"
for lib in "$work"/root/lib/modules "$work"/root/usr/lib/modules; do
	[ ! -d "$lib/$version" ] || mv "$lib/$version" "$work/kernel/lib/modules/"
done
depmod -b "$work/kernel" "$version"
mv "$work/kernel/vmlinuz.part" "$work/kernel/vmlinuz"
rm -rf "$dir"
mv "$work/kernel" "$dir"
