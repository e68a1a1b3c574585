"""Results and imports in separate processes: other threads, an old processor, loaded modules."""

import os
import subprocess
import sys


def run_python(code, **environment):
    command, environment = [sys.executable, "-c", code], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


OLD_PROCESSOR = {
    "NUMBA_CPU_NAME": "generic",  # no instructions that fuse a product and a sum
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Nehalem",
}


def test_results_are_bitwise_equal_for_all_threads_and_processors():
    code = """
import hashlib, itertools
from sklearn.datasets import load_digits
from gdl_core import GraphDegreeLinkage
for n_jobs, search in itertools.product({n_jobs}, {searches}):
    model = GraphDegreeLinkage(search=search, n_jobs=n_jobs).fit(load_digits().data)
    for part in (model.labels_, model.children_, model.affinities_, model.graph_.weights):
        print(hashlib.sha256(part.tobytes()).hexdigest())
"""
    # on the old processor only the exact search, because compiling its kernels takes half a minute
    both, exact = ("exact", "approximate"), ("exact",)
    of_old = run_python(code.format(n_jobs=(2,), searches=exact), **OLD_PROCESSOR).split()
    of_both = run_python(code.format(n_jobs=(1, 3), searches=both)).split()
    found = of_both[:8]
    assert found == of_both[8:]
    assert len(found) == 8
    assert of_old == found[:4]


def test_import_loads_no_slow_modules():
    loaded = run_python("import sys, gdl_core; print(*sys.modules)").split()
    assert not {"numba", "tqdm", "sklearn.neighbors", "matplotlib", "pandas"} & set(loaded)


def test_fit_loads_no_module_of_matching():
    code = "import sys, gdl_core; gdl_core.GraphDegreeLinkage(2, n_neighbors=2).fit([[0.0], [1], [5], [6]])"
    loaded = {name.split(".")[0] for name in run_python(code + "; print(*sys.modules)").split()}
    assert not {"cv2", "matching", "synth", "skimage", "matplotlib", "shapely"} & loaded
