# Throwaway PostgreSQL clusters for test/run, test/demo/run and test/bench/run: source this file.
#
#   root                 the checkout; `copy_checkout DIR` copies its files (no build products) to DIR
#   PG_CONFIG, bindir    the PostgreSQL in use, by the rule of the Makefile; bindir is first in PATH
#   as_server_user CMD.. runs CMD as the unprivileged user that servers run as: the caller, or, for
#                        root, `postgres`. (In / if that user may not enter the current directory.)
#                        "${as_user[@]}" CMD.. is the same as a simple command, for `&` and `timeout`.
#   as_root CMD..        runs CMD as one who may install: as root, through sudo if need be
#   make_workdir         prints the name of a new directory in /tmp that the server user owns
#   build_and_install D  copies the checkout to D/build, builds it there from clean (with the make
#                        arguments that follow D) and installs it
#   start_cluster D [L.. starts the cluster in D/data, makes it first if there is none. D should come
#                        from make_workdir, or be a short name of a directory that is missing or
#                        empty. L.. are lines for its postgresql.conf, such as "shared_buffers = 1GB".
#                        UTF8, C.UTF-8, trust, fsync = off, no TCP: the socket is in D, so that no
#                        other cluster is in the way. Exports PGHOST, PGPORT, PGUSER=postgres and
#                        PGDATABASE=postgres, so that a plain `psql` of the caller connects. The
#                        server's log is D/server.log.
#   stop_cluster D       stops the cluster in D/data and any other below D. Never fails; leaves D.
#
# A script with a cluster of its own ends it like this:
#
#   dir=$(make_workdir)
#   trap 'stop_cluster "$dir"; rm -rf "$dir"' EXIT
#   trap 'exit 130' INT; trap 'exit 143' TERM HUP
#   start_cluster "$dir"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ -z "${PG_CONFIG:-}" ]; then
    PG_CONFIG=$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -V | tail -n 1) || true
fi
export PG_CONFIG=${PG_CONFIG:-pg_config}
bindir=$("$PG_CONFIG" --bindir) || { echo "no pg_config: run 'make setup' first" >&2; exit 1; }

# The caller's own settings must not reach the servers, the clients and the makes that we start.
for variable in ${!PG@}; do
    [ "$variable" = PG_CONFIG ] || unset "$variable"
done
unset variable MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES LANGUAGE
export LC_ALL=C.UTF-8 PATH=$bindir:$PATH
umask 022

as_root() {
    if [ "$(id -u)" = 0 ] || [ -w "$("$PG_CONFIG" --pkglibdir)" ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "neither root nor sudo: the extension cannot be installed for $PG_CONFIG" >&2
        return 1
    fi
}

server_user=$(id -un)
as_user=(env)
if [ "$(id -u)" = 0 ]; then
    server_user=postgres
    if ! id -u "$server_user" >/dev/null 2>&1; then
        server_user=partitionkey
        id -u "$server_user" >/dev/null 2>&1 || useradd --system --user-group "$server_user"
    fi
    as_user=(setpriv --reuid="$(id -u "$server_user")" --regid="$(id -g "$server_user")" --init-groups
        env -u TMPDIR HOME="$(getent passwd "$server_user" | cut -d: -f6)" USER="$server_user" LOGNAME="$server_user"
        sh -c 'cd . 2>/dev/null || cd /; exec "$@"' sh)
fi

as_server_user() {
    "${as_user[@]}" "$@"
}

make_workdir() {
    local dir
    dir=$(mktemp -d /tmp/partitionkey.XXXXXX)
    chown "$server_user" "$dir"
    echo "$dir"
}

# Git knows which files belong to the checkout; without it (a tarball) all of them do.
copy_checkout() {
    local file
    mkdir -p "$1"
    if [ -e "$root/.git" ] && command -v git >/dev/null; then
        git -c safe.directory="$root" -C "$root" ls-files -z --cached --others --exclude-standard |
            while IFS= read -r -d '' file; do
                if [ -e "$root/$file" ]; then printf '%s\0' "$file"; fi
            done |
            tar -C "$root" --null --no-recursion -T - -cf - | tar -C "$1" --no-same-owner -xf -
    else
        tar -C "$root" --exclude=./.git -cf - . | tar -C "$1" --no-same-owner -xf -
    fi
}

build_and_install() {
    local dir=$1
    shift
    copy_checkout "$dir/build"
    chown -R "$server_user" "$dir/build"
    as_server_user make -C "$dir/build" -s clean PG_CONFIG="$PG_CONFIG"
    as_server_user make -C "$dir/build" -s -j "$(nproc)" all PG_CONFIG="$PG_CONFIG" "$@"
    as_root make -C "$dir/build" -s install PG_CONFIG="$PG_CONFIG" "$@"
}

start_cluster() {
    local dir=$1 data=$1/data
    shift
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    if [ ! -e "$data/PG_VERSION" ]; then
        chown "$server_user" "$dir"
        as_server_user "$bindir/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 \
            --no-sync >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; return 1; }
    fi
    export PGHOST=$dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
    if as_server_user "$bindir/pg_ctl" -D "$data" status >/dev/null 2>&1; then
        return 0
    fi
    printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$dir'" "port = $PGPORT" \
        "fsync = off" "$@" >>"$data/postgresql.conf"
    as_server_user "$bindir/pg_ctl" -D "$data" -l "$dir/server.log" -s -w -t 60 start ||
        { tail -n 20 "$dir/server.log" >&2; return 1; }
}

stop_cluster() {
    local pidfile mode
    find "$1" -name postmaster.pid 2>/dev/null | while IFS= read -r pidfile; do
        for mode in fast immediate; do
            as_server_user "$bindir/pg_ctl" -D "$(dirname "$pidfile")" -s -m $mode -t 20 stop \
                </dev/null >/dev/null 2>&1 && break
        done
    done || true
}
