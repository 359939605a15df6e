# shellcheck shell=bash
# Run steps one after the other and print how long each took; sourced by the scripts behind make and CI.

step_names=()
step_times=()

step_failures=()

# The command has ended well and its time is kept; when it fails, the times so far are printed and the script ends as it did.
step() { # step NAME COMMAND...
    local status=0
    timed "$@" || status=$?
    if [ "$status" -ne 0 ]; then
        step_times_table
        printf 'failed: %s (exit %d)\n' "$1" "$status" >&2
        exit "$status"
    fi
}

# The command has ended and its time is kept; a failure is remembered for `end_of_attempts`.
attempt() { # attempt NAME COMMAND...
    timed "$@" || step_failures+=("$1")
}

end_of_attempts() {
    step_times_table
    if [ "${#step_failures[@]}" -eq 0 ]; then return; fi
    printf 'failed: %s\n' "${step_failures[@]}" >&2
    exit 1
}

timed() {
    local name=$1 started=$EPOCHREALTIME status=0
    shift
    printf '\n== %s\n' "$name" >&2
    "$@" || status=$?
    step_names+=("$name")
    step_times+=($(((${EPOCHREALTIME//[.,]/} - ${started//[.,]/}) / 1000)))
    return "$status"
}

step_times_table() {
    local i total=0
    printf '\n' >&2
    for i in "${!step_names[@]}"; do
        printf '%8d.%d s  %s\n' $((step_times[i] / 1000)) $((step_times[i] % 1000 / 100)) "${step_names[i]}" >&2
        total=$((total + step_times[i]))
    done
    printf '%8d.%d s  in all\n' $((total / 1000)) $((total % 1000 / 100)) >&2
}
