# shellcheck shell=bash
# Sourced by the scripts beside it: goes to the project's folder and installs what is missing.
# It does nothing, in a few milliseconds, when all is there.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Says what comes next.
say() { printf '\n== %s\n' "$*"; }

# Shows a command as a reader would type it, and runs it.
show() {
    local word
    printf '\n$'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_./:=,+%@-]*) printf ' "%s"' "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$@"
}

# Whether what a Debian package brings is there, however it came.
has() {
    case $1 in
    libsqlite3-dev) pkg-config --exists sqlite3 2>/dev/null ;;
    libmd-dev) pkg-config --exists libmd 2>/dev/null ;;
    zlib1g-dev) pkg-config --exists zlib 2>/dev/null ;;
    libpq-dev) pkg-config --exists libpq 2>/dev/null ;;
    postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
    postgresql-15-partman) compgen -G '/usr/share/postgresql/*/extension/pg_partman.control' >/dev/null ;;
    libyaml-dev) pkg-config --exists yaml-0.1 2>/dev/null ;;
    libc6-dev) [ -e /usr/include/stdio.h ] ;;
    libstdc++-12-dev) compgen -G '/usr/include/c++/*/vector' >/dev/null ;;
    ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] ;;
    binutils) command -v ld >/dev/null ;;
    dpkg-dev) command -v dpkg-shlibdeps >/dev/null ;;
    groff-base) command -v groff >/dev/null ;;
    man-db) command -v man >/dev/null ;;
    python3-jsonschema) /usr/bin/python3 -c 'import jsonschema' 2>/dev/null ;;
    python3-yaml) /usr/bin/python3 -c 'import yaml' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# Runs a command as root, or says that it cannot.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        sudo "$@"
    else
        return 69
    fi
}

# Installs packages; exits 69 and names them where that is not possible.
install_packages() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
    say "installing $*"
    # The package lists may be missing or old: they are fetched only if the first try fails.
    if command -v apt-get >/dev/null \
        && { as_root "${apt[@]}" install --no-install-recommends "$@" \
            || { as_root "${apt[@]}" update && as_root "${apt[@]}" install --no-install-recommends "$@"; }; }; then
        # SwiftPM looks for system libraries once and remembers the answer until the manifest is touched.
        touch Package.swift
        return
    fi
    printf 'These packages are needed and could not be installed from here: %s\n' "$*" >&2
    printf 'As root: apt-get update && apt-get install %s\n' "$*" >&2
    exit 69
}

# Makes sure that the named packages are there, and all that a build needs.
need() {
    local package missing=()
    for package in pkg-config libsqlite3-dev libmd-dev libyaml-dev zlib1g-dev git ca-certificates binutils libc6-dev libstdc++-12-dev "$@"; do
        has "$package" || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] || install_packages "${missing[@]}"

    if ! command -v swift >/dev/null; then
        echo "Swift 6.1 or newer is needed and is not on the PATH: https://www.swift.org/install/linux/" >&2
        exit 69
    fi
    # The toolchain's own libraries; it does not start without them.
    swift build --version >/dev/null 2>&1 || install_packages libncurses6 libcurl4 libxml2 libsqlite3-0
}

# Builds products as they are installed: Swift's libraries are inside, so that nothing of Swift need be where they run.
# Sets `programs` to their folder. With --postgres first: with the engine for PostgreSQL.
build_release() {
    local product options=(-c release --static-swift-stdlib -debug-info-format none) linker option
    # A tenth less memory: the addresses to be set at the start are packed (glibc 2.36 reads that, and the Swift toolchain's
    # own linker writes it), and no symbol is offered to libraries.
    linker=$(dirname "$(readlink -f "$(command -v swiftc)")")/ld.lld
    if [ -x "$linker" ] && printf '2.36\n%s\n' "$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)" | sort -VC; then
        options+=(-Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-export-dynamic)
    fi
    # A run with nothing to do starts in less time: metadata of generic types is asked for by calls. By its name, each type
    # has all conformances of the program searched.
    option=-disable-concrete-type-metadata-mangled-name-accessors
    case $(swiftc -frontend -help-hidden) in
    *$option*) options+=(-Xswiftc -Xfrontend -Xswiftc "$option") ;;
    esac
    # With its trait the package is another one, as it is with another way of linking: each has a build folder of its own.
    if [ "$1" = --postgres ]; then
        need libpq-dev
        options+=(--traits Postgres --scratch-path .build/static-postgres)
        shift
    else
        options+=(--scratch-path .build/static)
    fi
    for product in "$@"; do swift build "${options[@]}" --product "$product"; done
    programs=$(swift build "${options[@]}" --show-bin-path)
}
