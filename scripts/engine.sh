#!/usr/bin/env bash
# Start or stop the container engine of this checkout. Behind `make engine` and `make engine-stop`.
#
#   engine.sh start   0 when an engine answers: one that was there already, or a private daemon started here
#   engine.sh stop    ends the private daemon of this checkout and nothing else; its images stay
#   engine.sh remove  the same, and its images go too
#
# PAIRBENCH_ENGINE=private starts the private daemon although another engine answers.
# docs/decisions/0002-private-engine.md says why the daemon gets the flags that it gets.
set -euo pipefail
umask 022

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=$root/.cache
engine=$cache/engine
finder=$root/runner/adapters/engine_address.py
not_ready=3

say() { printf 'engine: %s\n' "$*" >&2; }
fail() { say "$1"; shift; if [ $# -gt 0 ]; then printf '  %s\n' "$@" >&2; fi; exit "$not_ready"; }
as_root() { [ "$(id -u)" -eq 0 ]; }
address() { python3 -I "$finder" "$cache"; }
digest_of() { printf %s "$1" | sha256sum | cut -c1-12; }

# A Unix socket's path has at most 107 bytes, and the longest one below is <runtime>/exec/containerd/containerd.sock.ttrpc.
# Addresses are URLs besides, and overlay mounts split their options at commas and colons: in a checkout whose path is long or has
# anything but plain characters, the daemon knows plain paths below /run, its data by a bind mount.
runtime_folder() {
    if [[ $engine =~ ^[A-Za-z0-9/._-]+$ ]] && [ "${#engine}" -le 64 ]; then
        printf '%s\n' "$engine"
    else
        printf '/run/pairbench-%s\n' "$(digest_of "$engine")"
    fi
}
runtime=$(runtime_folder)
namespace=pairbench-$(digest_of "$engine")
socket=$runtime/docker.sock
pidfile=$runtime/dockerd.pid
log=$engine/dockerd.log

# ---------------------------------------------------------------------------------------------------- processes of ours

# Process ids of dockerd, containerd and shims that were started with a path or the namespace of this engine as an argument.
our_processes() { # our_processes NAME...
    local folder argument name
    local -a arguments
    for folder in /proc/[0-9]*; do
        arguments=()
        mapfile -d '' -t arguments 2>/dev/null <"$folder/cmdline" || continue
        [ "${#arguments[@]}" -gt 1 ] || continue
        for name in "$@"; do
            [[ ${arguments[0]##*/} == "$name"* ]] || continue
            for argument in "${arguments[@]:1}"; do
                case $argument in
                    "$runtime"/* | "$namespace") printf '%s\n' "${folder#/proc/}"; break 2 ;;
                esac
            done
        done
    done
}

alive() { kill -0 "$1" 2>/dev/null && [[ $(cut -d' ' -f3 <"/proc/$1/stat" 2>/dev/null) != Z ]]; }

# All of the processes have ended when it returns: asked first, killed when they take longer than the seconds given.
end_processes() { # end_processes SECONDS PID...
    local seconds=$1 pid waited=0
    shift
    for pid in "$@"; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in "$@"; do
        while alive "$pid"; do
            if [ "$waited" -ge $((seconds * 10)) ]; then kill -KILL "$pid" 2>/dev/null || true; fi
            if [ "$waited" -ge $((seconds * 10 + 100)) ]; then fail "process $pid can't be ended"; fi
            sleep 0.1
            waited=$((waited + 1))
        done
    done
}

# Mount points of a folder and below it, deepest first.
mounts_below() {
    local point
    while read -r _ _ _ _ point _; do
        printf -v point %b "${point//\\0/\\00}"
        case $point in "$1" | "$1"/*) printf '%s\n' "$point" ;; esac
    done </proc/self/mountinfo | sort -r
}

unmount_below() {
    local point
    mounts_below "$1" | while IFS= read -r point; do
        umount "$point" 2>/dev/null || umount --lazy "$point" || true
    done
}

# Containers end with their first process, which is a child of their shim. Asked to end with containers running, a daemon
# waits for each one's stop timeout; a daemon that was killed leaves them running.
kill_containers() {
    local pid
    local -a first=()
    for pid in $(our_processes containerd-shim); do
        mapfile -t -O "${#first[@]}" first < <(cat /proc/"$pid"/task/*/children 2>/dev/null | tr -s ' ' '\n')
    done
    if [ "${#first[@]}" -gt 0 ]; then kill -KILL "${first[@]}" 2>/dev/null || true; fi
}

end_engine() {
    local -a found
    kill_containers
    mapfile -t found < <(our_processes dockerd)
    if [ "${#found[@]}" -gt 0 ]; then end_processes 20 "${found[@]}"; fi
    kill_containers
    mapfile -t found < <(our_processes containerd)
    if [ "${#found[@]}" -gt 0 ]; then end_processes 2 "${found[@]}"; fi
    rm -f "$engine/docker-host" "$pidfile" "$socket"
    unmount_below "$runtime"
    unmount_below "$engine"
    rm -rf --one-file-system "$runtime/exec"
    if [ "$runtime" != "$engine" ]; then rmdir "$runtime/data" "$runtime" 2>/dev/null || true; fi
}

# ------------------------------------------------------------------------------------------------------- installing one

policy=/usr/sbin/policy-rc.d
saved_policy=$policy.before-pairbench

# Debian starts a service while it installs it, unless this file says no; afterwards the file is what it was, and a run that
# was killed in between is made good by the next.
forbid_service_start() {
    restore_service_start
    if [ -x "$policy" ] && ! "$policy" docker start >/dev/null 2>&1; then return; fi
    if [ -e "$policy" ]; then mv "$policy" "$saved_policy"; fi
    printf '#!/bin/sh\n# pairbench: removed when the installation ends\nexit 101\n' >"$policy"
    chmod 755 "$policy"
}

restore_service_start() {
    if grep -qs '^# pairbench: removed' "$policy"; then rm -f "$policy"; fi
    if [ -e "$saved_policy" ]; then mv "$saved_policy" "$policy"; fi
}

apt() { DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

install_engine() {
    local -a packages=(docker.io)
    # Where the kernel enforces AppArmor, the daemon refuses containers without its parser.
    if grep -qs Y /sys/module/apparmor/parameters/enabled; then packages+=(apparmor); fi
    say "no engine answers: installing ${packages[*]} from the distribution"
    mkdir -p "$engine"
    forbid_service_start
    trap restore_service_start EXIT
    if ! { apt install -y --no-install-recommends "${packages[@]}" ||
        { apt update && apt install -y --no-install-recommends "${packages[@]}"; }; } >"$engine/install.log" 2>&1; then
        tail -n 20 "$engine/install.log" >&2
        fail "the distribution's docker.io could not be installed ($engine/install.log)"
    fi
    restore_service_start
    trap - EXIT
}

no_engine() {
    local -a lines
    if command -v apt-get >/dev/null; then
        # shellcheck disable=SC2016 # $USER is for whoever types the line
        lines=('sudo apt-get install -y docker.io' 'sudo usermod -aG docker "$USER" && newgrp docker')
    else
        # shellcheck disable=SC2016
        lines=('sudo systemctl start docker   # after installing Docker Engine'
            'export DOCKER_HOST=unix:///path/to/its.sock   # only where it listens elsewhere')
    fi
    fail "no container engine answers, and one can be installed and started here by root only. Type:" "${lines[@]}"
}

# --------------------------------------------------------------------------------------------------------- starting one

# A container or chroot may have no control groups mounted; the daemon needs them for limits.
mount_cgroups() {
    local controller enabled
    if grep -qE ' /sys/fs/cgroup(/[^ ]*)? cgroup2? ' /proc/mounts; then return; fi
    say "mounting control groups on /sys/fs/cgroup"
    mkdir -p /sys/fs/cgroup
    if mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null; then
        if grep -qw memory /sys/fs/cgroup/cgroup.controllers; then return; fi
        umount /sys/fs/cgroup
    fi
    mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup || fail "control groups can't be mounted: the daemon needs them"
    while read -r controller _ _ enabled; do
        if [ "$enabled" != 1 ]; then continue; fi
        mkdir -p "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" "$controller" "/sys/fs/cgroup/$controller" 2>/dev/null ||
            rmdir "/sys/fs/cgroup/$controller"
    done < <(sed 1d /proc/cgroups)
}

start_daemon() {
    local pid waited=0
    end_engine
    mount_cgroups
    mkdir -p "$engine/data" "$runtime/data"
    chmod 711 "$runtime"
    if [ "$runtime" != "$engine" ]; then mount --bind "$engine/data" "$runtime/data"; fi
    if [ -e "$log" ]; then mv "$log" "$log.1"; fi
    (
        # Whoever waits for an inherited descriptor to close (make, a CI step, the lock) would wait for the daemon.
        for descriptor in /proc/self/fd/*; do
            descriptor=${descriptor##*/}
            if [ "$descriptor" -gt 2 ]; then eval "exec $descriptor>&-"; fi
        done
        cd /
        exec setsid dockerd --host "unix://$socket" --data-root "$runtime/data" --exec-root "$runtime/exec" \
            --pidfile "$pidfile" --containerd-namespace "$namespace" --containerd-plugins-namespace "$namespace-plugins" \
            --bridge none --iptables=false --ip6tables=false --shutdown-timeout 5 </dev/null >"$log" 2>&1
    ) &
    pid=$!
    until python3 -I - "$finder" "unix://$socket" <<<'import runpy, sys
sys.exit(bool(runpy.run_path(sys.argv[1])["fault_of"](sys.argv[2], {})))'; do
        if ! alive "$pid" || [ "$waited" -ge 300 ]; then
            tail -n 20 "$log" >&2
            end_engine
            fail "the daemon did not start ($log)"
        fi
        sleep 0.2
        waited=$((waited + 1))
    done
    disown "$pid"
    printf 'unix://%s\n' "$socket" >"$engine/docker-host.new"
    mv "$engine/docker-host.new" "$engine/docker-host"
    say "started at unix://$socket ($log)"
}

start() {
    local found
    if found=$(address 2>/dev/null); then
        say "answers at $found"
        return
    fi
    if [ -n "${DOCKER_HOST:-}" ] && [ "${PAIRBENCH_ENGINE:-}" != private ]; then
        fail "DOCKER_HOST is $DOCKER_HOST, and nothing answers there. Start it, or type:" "unset DOCKER_HOST" "make engine"
    fi
    as_root || no_engine
    mkdir -p "$engine"
    exec {lock}>"$engine/lock"
    flock --wait 600 "$lock" || fail "another 'make engine' of this checkout has been at work for ten minutes"
    # While this one waited, the other may have started it.
    if found=$(address 2>/dev/null); then
        say "answers at $found"
        return
    fi
    if ! command -v dockerd >/dev/null; then
        command -v apt-get >/dev/null || no_engine
        install_engine
    fi
    start_daemon
}

stop() {
    if [ ! -d "$engine" ]; then return; fi
    if ! as_root; then
        if [ -z "$(our_processes dockerd containerd)" ] && [ ! -e "$engine/docker-host" ]; then return; fi
        fail "the private engine belongs to root. Type:" "sudo make engine-stop"
    fi
    exec {lock}>"$engine/lock"
    flock --wait 600 "$lock" || fail "'make engine' of this checkout has been at work for ten minutes"
    if [ -n "$(our_processes dockerd containerd)" ]; then say "ending the private engine of this checkout"; fi
    end_engine
}

case ${1:-} in
    start) start ;;
    stop) stop ;;
    remove)
        stop
        rm -rf --one-file-system "$engine"
        ;;
    *)
        printf 'usage: %s start|stop|remove\n' "$0" >&2
        exit 2
        ;;
esac
