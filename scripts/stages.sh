# shellcheck shell=bash
# Sourced by scripts/test and scripts/nightly, behind setup.sh: stages whose costs are written down, the build that all
# tests use, and a last line that says how it ended.
#
# The table has a line for each stage: its name, seconds, seconds of the processors, exit code. Who sources this sets
# `table` to its file. On two quiet cores the seconds are at least half of those of the processors.

mkdir -p .build
rm -f .build/skipped.txt
printf 'stage\tseconds\tprocessor\texit code\n' >"$table"

# What the last line says, the stage under way and when it began, a folder to be removed.
summary= stage= began=0 cpu=0 cpu_before=0 folder=
# The process of `beside`.
other=
# The build of everything that tests use, with the engine for PostgreSQL.
built=.build/postgres/release

# Sets `cpu` to the seconds of the processors that this shell and all that it waited for have used. Not for a substitution: the
# shell in it has used none.
read_cpu() {
    local file=$table.$BASHPID
    times >"$file"
    cpu=$(tr ms '  ' <"$file" | awk '{ sum += $1 * 60 + $2 + $3 * 60 + $4 } END { printf "%.0f", sum }')
    rm "$file"
}

# Ends the stage under way, with an exit code.
end_stage() {
    [ -n "$stage" ] || return 0
    read_cpu
    printf '%s\t%d\t%d\t%d\n' "$stage" $((SECONDS - began)) $((cpu - cpu_before)) "$1" >>"$table"
    stage=
}

# Begins a stage: says what comes next, and how long it has taken until now.
stage() {
    end_stage 0
    read_cpu
    stage=$1 began=$SECONDS cpu_before=$cpu
    say "$(printf '%s  (after %d:%02d)' "$1" $((SECONDS / 60)) $((SECONDS % 60)))"
}

# Runs a function with stages of its own beside what follows. What it prints is shown by `join`.
beside() {
    # A group of its own, so that all of it can be ended.
    set -m
    (
        set +m
        trap 'end_stage $?' EXIT
        stage=
        "$@"
    ) >.build/beside.log 2>&1 </dev/null &
    other=$!
    set +m
}

# Waits for the function beside; ends as it does.
join() {
    local status=0
    end_stage 0
    wait "$other" || status=$?
    other=
    cat .build/beside.log
    [ $status = 0 ] || stage="what ran beside the tests"
    return $status
}

# Notes a check that is not possible here, for the last line.
omit() { echo "$1" >>.build/skipped.txt; }

# The end, whatever happened: the table, and the last line. Called by a trap.
finish() {
    local status=$? line=${summary:-no test was run} failed=$stage
    [ -z "$other" ] || kill -- "-$other" 2>/dev/null || true
    end_stage $status
    [ -z "$folder" ] || rm -rf "$folder"
    [ $status = 0 ] || line="FAILED${failed:+ in \"$failed\"} with exit code $status: $line"
    [ ! -e .build/skipped.txt ] || line+="; checks that were skipped: $(paste -sd , .build/skipped.txt)"
    printf '\n'
    awk -F '\t' '{ printf "%-52s %9s %10s %10s\n", $1, $2, $3, $4 }' "$table"
    printf '\n%s\n' "$line"
}
trap finish EXIT

# Builds all programs and tests, with the words given. Package.swift turns warnings of our own targets into errors; those of
# dependencies are not ours. An import that the manifest does not declare breaks the floor plan: that check fails by its exit
# status alone, even where the last line says "Build complete!". SwiftPM finds the tests by the index store, which is therefore
# left on here.
build_tests() {
    RETENTION_STRICT=1 swift build --build-tests --explicit-target-dependency-import-check error "$@" 2>&1 | cut -c 1-1000
}

# The build that all tests use, without debug information. Package.swift says what is optimised in it. With the trait the
# package is another one and has a build folder of its own, so that a developer's folder stays as it is.
build_suite() { build_tests -c release -debug-info-format none --traits Postgres --scratch-path .build/postgres; }

# Runs tests: shows failures and keeps everything in a log, whose last line has the counts. They are what the last line
# says, unless a stage behind runs tests too.
#
#   tests LOG [COMMAND WORD…] PROGRAM [OPTION…]
tests() {
    local log=$1 status=0
    shift
    mkdir -p "${log%/*}"
    # Not by `swift test`: it hands the output on, and loses lines of it on a busy machine.
    scripts/test-filter "$log" "$@" || status=$?
    summary=$(tail -n 1 "$log")
    echo "$summary"
    return $status
}
suite=("$built/retentionPackageTests.xctest" --testing-library swift-testing)
