"""A wheel of compiled kernels, `trajopt_kernels`, which spares first solves their compilation.

    python scripts/kernel_wheel.py [FOLDER]      writes it to FOLDER, dist unless given

It fits the Python, Numba and NumPy that run this, any x86-64 processor of 2013 and later, and the sources of
this checkout: where one of them differs kernels are compiled as without it (`dynamics.kernels.code_cache`).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from importlib.metadata import version
from pathlib import Path

from dynamics.kernels.code_cache import LEVEL, PORTABLE
from trajopt.base.version import __version__

PINNED = ("numba", "llvmlite", "numpy")
#: of the platform's name in wheels: the files hold no libraries, so no Linux is too old for them
PLATFORMS = {"linux-x86_64": "manylinux2014_x86_64"}
INIT = '"""Compiled kernels of trajopt; `dynamics.kernels.code_cache` reads them."""\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("dist"), help="where the wheel goes")
    target = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as folder:
        kernels = compiled(Path(folder))
        path = write(target, {f"{PORTABLE}/{each.name}": each.read_bytes() for each in kernels})
    print(f"{path}: {len(kernels)} kernels, {path.stat().st_size / 1e6:.1f} MB")


def compiled(folder: Path) -> list[Path]:
    """Files of all kernels that a warmup compiles, for the processors of the level."""
    processor, features = LEVEL
    chosen = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder)}
    code = "from dynamics import warmup; print(warmup(two_processes=True))"
    subprocess.run([sys.executable, "-c", code], env=os.environ | chosen, check=True)
    return sorted((folder / "kernels").glob("*.nbc"))


def write(folder: Path, kernels: dict[str, bytes]) -> Path:
    """The wheel of these files."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    platform = PLATFORMS.get(sysconfig.get_platform(), sysconfig.get_platform().replace("-", "_"))
    tag, info = f"{python}-none-{platform}", f"{PORTABLE}-{__version__}.dist-info"
    metadata = ["Metadata-Version: 2.1", "Name: trajopt-kernels", f"Version: {__version__}"]
    metadata += ["Summary: Compiled kernels of trajopt-splines", "License: BSD-3-Clause"]
    metadata += [f"Requires-Python: =={sys.version_info[0]}.{sys.version_info[1]}.*"]
    metadata += [f"Requires-Dist: {name}=={version(name)}" for name in PINNED]
    wheel = ["Wheel-Version: 1.0", "Generator: kernel_wheel", "Root-Is-Purelib: false", f"Tag: {tag}"]
    files = {f"{PORTABLE}/__init__.py": INIT.encode(), **kernels}
    files[f"{info}/METADATA"] = "\n".join([*metadata, ""]).encode()
    files[f"{info}/WHEEL"] = "\n".join([*wheel, ""]).encode()
    record = [f"{name},sha256={digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{PORTABLE}-{__version__}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def digest(content: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
