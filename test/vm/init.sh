#!/bin/busybox sh
# The first process of the machine: files, then the program, then the end.
b=/bin/busybox
fail() {
	echo "vm: $*"
	$b poweroff -f
}
$b mkdir -p /proc /sys /dev /lower /upper /root /share
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
while read -r module; do $b insmod "/modules/$module" || fail "no module $module"; done </modules/order
at=trans=virtio,version=9p2000.L,msize=512000
$b mount -t 9p -o "$at,ro,cache=loose" root /lower || fail "no root"
$b mount -t tmpfs -o size=75% upper /upper || fail "no memory"
$b mkdir /upper/up /upper/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/upper/up,workdir=/upper/work root /root || fail "no overlay"
version=$($b sed 's/.*vm\.kernel=\([^ ]*\).*/\1/' /proc/cmdline)
cd /root || fail "no root"
$b mkdir -p proc sys dev run tmp "lib/modules/$version" mnt
for d in proc sys; do $b mount --move /$d /root/$d; done
$b mount --move /dev /root/dev
$b mkdir -p dev/pts dev/shm
$b mount -t devpts devpts dev/pts
$b mount -t tmpfs shm dev/shm
$b mount -t tmpfs run run
$b mkdir -p run/share run/lock run/modules
$b mount -t 9p -o "$at,cache=none" share run/share || fail "no share"
$b mount -t 9p -o "$at,ro,cache=loose" modules run/modules || fail "no modules"
$b mount --bind "run/modules/$version" "lib/modules/$version" || fail "no modules"
$b mount -t cgroup2 cgroup sys/fs/cgroup
$b hostname vm
# From here on the machine's files are the root of this process, of the kernel's helpers and of every new mount namespace.
exec $b switch_root /root /bin/busybox sh -c '
	export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	/bin/busybox ip link set lo up
	: >/run/share/booted
	# The second serial line is the program'"'"'s alone.
	/bin/busybox stty -F /dev/ttyS1 raw -echo
	/bin/sh /run/share/run </dev/null >/dev/ttyS1 2>&1
	echo $? >/run/share/status.part
	mv /run/share/status.part /run/share/status
	# What the line still holds must get out.
	/bin/busybox sleep 0.2
	/bin/busybox poweroff -f
'
