from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Dict, List
import sys

import numpy as np
from tensorrtserver.api import InferContext, ProtocolType


@lru_cache(maxsize=None)
def context_for(url: str, protocol: ProtocolType, model: str) -> InferContext:
    return InferContext(url, protocol, model)


def square_sum(url: str, protocol: ProtocolType, values: List[float]) -> float:
    ctx: InferContext = context_for(url, protocol, "identity_fp64")
    result: Dict[str, List[np.ndarray]] = ctx.run(
        {"INPUT0": [np.array(values)]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1
    )
    return float(np.sum(np.square(result["OUTPUT0"][0])))


def main(url: str, protocol_name: str) -> None:
    job = partial(square_sum, url, ProtocolType.from_str(protocol_name))
    with ThreadPoolExecutor(1) as pool:
        for total in pool.map(job, [[1.0, 2.0], [3.0], [0.5, 0.5]]):
            print(f"{total:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
