"""What the scripts of Debian packages do when they are installed, done without running them.

This is all that a program in a container can notice of it. Not made, against what dpkg leaves, are the databases of
debconf, alternatives and PAM's profiles; logs, locks and backups of dpkg and apt; links that start services; shadow
passwords, since nobody logs in; and the hashed names of certificates, since OpenSSL reads the bundle. The cache of the
dynamic linker and Python's bytecode need programs of the base: they are made in a container.
"""

from levelfield.images.layer import Tree

_COPIES = {
    # base-files
    "etc/motd": "usr/share/base-files/motd",
    "etc/profile": "usr/share/base-files/profile",
    "root/.bashrc": "usr/share/base-files/dot.bashrc",
    "root/.profile": "usr/share/base-files/dot.profile",
    # base-passwd
    "etc/group": "usr/share/base-passwd/group.master",
    "etc/passwd": "usr/share/base-passwd/passwd.master",
    # libc-bin
    "etc/nsswitch.conf": "usr/share/libc-bin/nsswitch.conf",
    # readline-common
    "etc/inputrc": "usr/share/readline/inputrc",
}
"""Files that are copied where there is none, and what of; where that is not there either, the package is not."""

_ALTERNATIVES = {
    # cpp, g++ and gcc
    "usr/bin/c++": "usr/bin/g++",
    "usr/bin/c89": "usr/bin/c89-gcc",
    "usr/bin/c99": "usr/bin/c99-gcc",
    "usr/bin/cc": "usr/bin/gcc",
    "usr/lib/cpp": "usr/bin/cpp",
    # debianutils
    "usr/bin/which": "usr/bin/which.debianutils",
    # mawk
    "usr/bin/awk": "usr/bin/mawk",
    "usr/bin/nawk": "usr/bin/mawk",
    # tar
    "usr/sbin/rmt": "usr/sbin/rmt-tar",
    # util-linux
    "usr/bin/pager": "usr/bin/more",
}
"""Links, by way of `/etc/alternatives`, to the only program of their kind."""

_LINKS = {
    # base-files
    "etc/dpkg/origins/default": ("debian", "etc/dpkg/origins/debian"),
    "usr/local/man": ("share/man", "usr/share/base-files/profile"),
    "var/lock": ("/run/lock", "usr/share/base-files/profile"),
    "var/run": ("/run", "usr/share/base-files/profile"),
    "var/spool/mail": ("../mail", "usr/share/base-files/profile"),
    # tzdata
    "etc/localtime": ("/usr/share/zoneinfo/Etc/UTC", "usr/share/zoneinfo/Etc/UTC"),
}
"""Links, also in place of folders; where they lead, and the file that must be there."""

_FOLDERS = (
    # base-files
    *("etc/opt", "media", "mnt", "opt", "srv", "var/mail", "var/opt"),
    *(f"usr/local/{name}" for name in ("bin", "etc", "games", "include", "lib", "sbin", "share/man", "src")),
    # dpkg
    *("var/lib/dpkg/triggers", "var/lib/dpkg/updates"),
)
_FOR_ALL = ("run/lock", "tmp", "var/tmp")
"""Folders of base-files in which everybody may write, and delete what is theirs."""

_CERTIFICATES = "usr/share/ca-certificates/mozilla"


def configure(tree: Tree) -> None:
    """Add to the files of packages what their scripts would have added."""
    for path, origin in _COPIES.items():
        if origin in tree and path not in tree:
            tree.file(path, tree.read(origin))
    for path, program in _ALTERNATIVES.items():
        if program in tree and path not in tree:
            middle = f"etc/alternatives/{path.rpartition('/')[2]}"
            tree.link(path, f"/{middle}")
            tree.link(middle, f"/{program}")
    for path, (target, needed) in _LINKS.items():
        if needed in tree:
            tree.link(path, target)
    for path in _FOLDERS:
        if path not in tree:
            tree.folder(path)
    for path in _FOR_ALL:
        tree.folder(path, 0o1777)
    if "etc/localtime" in tree:
        tree.file("etc/timezone", b"Etc/UTC\n")
    _certificates(tree)
    _dist_packages(tree)


def _certificates(tree: Tree) -> None:
    """ca-certificates: the bundle that `update-ca-certificates` makes."""
    certificates = [tree.read(path) for path in tree.below(_CERTIFICATES) if path.endswith(".crt")]
    if certificates:
        bundle = b"".join(certificate.rstrip(b"\n") + b"\n" for certificate in certificates)
        tree.file("etc/ssl/certs/ca-certificates.crt", bundle)


def _dist_packages(tree: Tree) -> None:
    """python3.x-minimal: the folder of packages that an administrator installs."""
    for path in tree.below("usr/lib"):
        name = path.removeprefix("usr/lib/")
        if name.startswith("python3.") and "/" not in name:
            tree.folder(f"usr/local/lib/{name}/dist-packages")
