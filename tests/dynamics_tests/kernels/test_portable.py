"""Kernels that were compiled elsewhere spare the compilation where they fit, and are nothing where not."""

import os
import subprocess
import sys
import zipfile

import pytest
from numba.core.registry import cpu_target

from dynamics.kernels.code_cache import LEVEL, PORTABLE, portable_target
from scripts import kernel_wheel

OWN = cpu_target.target_context.codegen().magic_tuple()
PLACE = (
    "import dynamics; from numba.core import event; compiled = [];"
    "Listener = type('Listener', (event.Listener,), {'on_start': lambda self, each: compiled.append(each),"
    " 'on_end': lambda self, each: None}); event.register('numba:compile', Listener());"
    "model = dynamics.RigidBodyModel((dynamics.Body('b', dynamics.Joint('j', 'prismatic'), mass=2.0),));"
    "print(dynamics.forward_kinematics(model, [2.0]).position[0, 2], len(compiled))"
)


def test_a_processor_without_an_instruction_gets_none_of_them():
    architecture, whole = "x86_64-unknown-linux-gnu", "+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+lzcnt,+movbe"
    whole += ",+popcnt,+sse4.2,-avx512f"
    assert portable_target((architecture, "any", whole)) == (architecture, *LEVEL)
    for name in whole.split(",")[:-1]:
        less = whole.replace(f"{name},", f"-{name[1:]},")
        assert portable_target((architecture, "any", less)) is None, name
    assert portable_target(("aarch64-unknown-linux-gnu", "any", whole)) is None
    assert portable_target((architecture, "generic", "")) is None, "chosen by NUMBA_CPU_NAME"


@pytest.mark.long
@pytest.mark.skipif(portable_target(OWN) is None, reason="another kind of processor")
def test_a_kernel_of_the_wheel_is_not_compiled_again(tmp_path):
    def placed(site, kept, **others):
        path = os.pathsep.join([str(tmp_path / site), *filter(None, sys.path)])
        names = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / kept), **others}
        run = [sys.executable, "-c", PLACE]
        done = subprocess.run(run, env=os.environ | names, capture_output=True, text=True, check=True)
        return done.stdout.split()

    processor, features = LEVEL
    chosen = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    assert placed("none", "built", **chosen)[1] != "0"
    files = list((tmp_path / "built" / "kernels").glob("*.nbc"))
    assert files
    contents = {f"{PORTABLE}/{path.name}": path.read_bytes() for path in files}
    with zipfile.ZipFile(kernel_wheel.write(tmp_path / "dist", contents)) as wheel:
        wheel.extractall(tmp_path / "site")
    assert placed("site", "empty") == ["2.0", "0"]
    assert not list((tmp_path / "empty" / "kernels").iterdir())
    damaged = tmp_path / "site" / PORTABLE / files[0].name
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    found = placed("site", "empty")
    assert found[0] == "2.0" and found[1] != "0", "damaged, it is compiled"
