# shellcheck shell=bash
# Sourced by scripts/test-package and scripts/test-fresh, behind setup.sh: a fresh system of this machine's release.
#
# It is made by debootstrap from the mirror that this machine's apt uses, and kept in .build/package. Needs root. Says so
# and ends the script where that is not to be had.

release=$(. /etc/os-release && echo "$VERSION_CODENAME")
base=$PWD/.build/package/$release

skip() {
    echo "SKIPPED: there is no fresh system: $*"
    exit 0
}
fail() {
    echo "${0#"$PWD/"}: $*" >&2
    exit 1
}

# Carries out a command in the fresh system.
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

# Makes the system, in the folder `root`.
fresh_system() {
    [ "$(id -u)" = 0 ] || skip "that needs root"
    need debootstrap python3
    if [ ! -e "$base/complete" ]; then
        say "debootstrap"
        local mirror
        mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' | sed -n "s/^$release //p" | head -n 1)
        [ -n "$mirror" ] || skip "apt knows no mirror of $release"
        rm -rf "$base"
        mkdir -p "${base%/*}"
        debootstrap --variant=minbase "$release" "$base" "$mirror" >"$base.log" 2>&1 || {
            tail -n 3 "$base.log"
            skip "debootstrap failed, see $base.log"
        }
        touch "$base/complete"
    fi
    say "a fresh system"
    root=$(mktemp -d)
    trap remove_system EXIT
    cp -a "$base/." "$root"
    rm "$root/complete"
    # The network is that of this machine, with the authorities that somebody added here, such as that of a proxy.
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
    # The job asks /proc who else has the store open. It works without.
    mount -t proc proc "$root/proc" 2>/dev/null || echo "there is no /proc in it"
    inside sh -c '! command -v swift && ! command -v retention' || fail "the system is not fresh"
    inside apt-get -q -q update
}

# Removes the system; not while something is mounted in it, which would be removed too.
remove_system() {
    local place
    for place in $(grep -o " $root/[^ ]*" /proc/mounts); do umount "$place" || return; done
    rm -rf --one-file-system "$root"
}
