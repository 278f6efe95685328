"""Machines with a driver and GPUs, and the table that they are held against."""

from levelfield.compatibility.gate import Gpu, Nvidia, read

TABLE = read()
VARIANTS = {"cu12": "12.8.1", "cu13": "13.1.1"}
H100 = Gpu(0, "NVIDIA H100", "9.0")
V100 = Gpu(1, "Tesla V100", "7.0")
K80 = Gpu(0, "Tesla K80", "3.7")


def machine(driver: str | None, *gpus: Gpu, cuda: str | None = None) -> Nvidia:
    return Nvidia(driver=driver, cuda=cuda, gpus=gpus or (H100,), problem="" if driver else "there is none")
