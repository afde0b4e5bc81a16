"""Executors of every kind that the package documents, with two workers each."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import forebay


def dask_executor() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor()


def ray_executor() -> Iterator[Executor]:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    try:
        yield forebay.RayExecutor()
    finally:
        ray.shutdown()


def pool_executor() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


def thread_executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


EXECUTORS = {"threads": thread_executor, "processes": pool_executor, "dask": dask_executor, "ray": ray_executor}
