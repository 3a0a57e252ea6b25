# Shared by the scripts beside it; not run by itself.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '\n== %s\n' "$*" >&2; }

die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# real_python PYTHON 3.X: print where it really lies (PYTHON may be a pyenv shim), or fail
# unless it starts, is that version, and can make virtual environments.
real_python() {
    "$1" -I -c "import sys, ensurepip, venv; print(sys.executable)
sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null
}

# find_python 3.X: print the path of a usable interpreter of that version, or fail.
find_python() {
    local candidate found
    for candidate in "$(command -v "python$1")" "$(command -v python3)" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/"python$1"; do
        if [ -x "$candidate" ] && found=$(real_python "$candidate" "$1"); then
            printf '%s\n' "$found"
            return 0
        fi
    done
    return 1
}

# best_python 3.X 3.Y …: print the path of the first of these versions that is present.
best_python() {
    local version
    for version in "$@"; do
        find_python "$version" && return 0
    done
    die "no usable Python among $* (with venv). On Debian: apt-get install python3 python3-venv"
}

# make_venv FOLDER REQUIREMENTS… : a virtual environment with exactly these, made once.
# Its stamp is written last, so an interrupted installation is made again.
make_venv() {
    local folder=$1 python
    shift
    [ "$(cat "$folder/complete" 2>/dev/null)" = "$*" ] && "$folder/bin/python" -c '' && return 0
    python=$(best_python 3.13 3.12 3.11 3.10 3.9) || exit 1
    say "making $folder with $python: $*"
    rm -rf "$folder"
    "$python" -m venv "$folder" || die "cannot make $folder"
    "$folder/bin/python" -m pip install --disable-pip-version-check --quiet "$@" ||
        die "pip could not install: $*"
    printf '%s\n' "$*" >"$folder/complete"
}

# Later versions of virtualenv no longer make environments for Python 3.8.
make_tox() {
    make_venv "$root/.venv-tox" "tox==4.25.0" "virtualenv==20.29.3"
    tox=$root/.venv-tox/bin/tox
}
