# Functions for the other scripts of this folder.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*" >&2; }

die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# clean_up_at_the_end: make a temporary folder for all later commands, and remove it at the end.
clean_up_at_the_end() {
    TMPDIR=$(mktemp -d) || exit 1
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
}

# real_python PYTHON 3.X: print the real path of PYTHON, which may be a pyenv shim. Fail unless it
# starts, has that version, and can make virtual environments.
real_python() {
    "$1" -I -c "import sys, ensurepip, venv; print(sys.executable)
sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null
}

# find_python 3.X: print the path of a usable interpreter of that version, or fail.
find_python() {
    local candidate path
    for candidate in "$(command -v "python$1")" "$(command -v python3)" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/"python$1"; do
        if [ -x "$candidate" ] && path=$(real_python "$candidate" "$1"); then
            printf '%s\n' "$path"
            return 0
        fi
    done
    return 1
}

# best_python 3.X 3.Y …: print the path of the first version that is present.
best_python() {
    local version
    for version in "$@"; do
        find_python "$version" && return 0
    done
    die "no usable Python among $*: with the modules venv and ensurepip, on PATH or in pyenv.
python3 here is: $(python3 --version 2>&1 || true). On Debian and Ubuntu: apt-get install python3-venv"
}

# any_python: print the path of an interpreter for tools of the scripts.
any_python() { best_python 3.13 3.12 3.11 3.10 3.9 3.14; }

# make_venv FOLDER REQUIREMENTS…: make a virtual environment once, with exactly these requirements.
# $venv_python names its interpreter, if set. The stamp is written last, so an interrupted
# installation is made again.
make_venv() {
    local folder=$1 python
    shift
    [ "$(cat "$folder/complete" 2>/dev/null)" = "$*" ] && "$folder/bin/python" -c '' && return 0
    python=${venv_python:-$(any_python)}
    [ -n "$python" ] || exit 1
    say "making $folder with $python: $*"
    rm -rf "$folder"
    "$python" -m venv "$folder" >&2 || die "cannot make $folder"
    "$folder/bin/python" -m pip install --disable-pip-version-check "$@" >&2 ||
        die "pip could not install: $*"
    printf '%s\n' "$*" >"$folder/complete"
}

# prepare_server OPTIONS…: install the server once, if this machine can run it.
prepare_server() {
    local python
    python=$(any_python) || exit 1
    say "the server's own environment (once)"
    (cd "$root" && exec "$python" -m testbed --prepare "$@")
}

# Later versions of virtualenv no longer make environments for Python 3.8.
make_tox() {
    make_venv "$root/.venv-tox" "tox==4.25.0" "virtualenv==20.29.3"
    tox=$root/.venv-tox/bin/tox
}

# make_environment NAME OPTIONS…: install the requirements of an environment of tox, if missing.
make_environment() {
    say "making the environment $1"
    "$tox" run --notest --skip-missing-interpreters false -e "$@" >&2
}
