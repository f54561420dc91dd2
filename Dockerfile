# The demo of README in a container:  docker build -t supernetic . && docker run --rm -v "$PWD/runs:/home/user/runs" supernetic
#
# Untested: there was no Docker daemon where this was written. The commands are those of README on a bare Python 3.11.
FROM python:3.11-slim

RUN useradd --create-home user
WORKDIR /home/user/supernetic
COPY --chown=user pyproject.toml constraints.txt README.md LICENSE ./
COPY --chown=user src ./src
# The default build of torch brings gigabytes for GPUs. PyTorch's page "Get Started" names the index of its CPU builds:
# docker build --build-arg PIP_EXTRA_INDEX_URL=... -t supernetic .
ARG PIP_EXTRA_INDEX_URL=""
RUN pip install --no-cache-dir -c constraints.txt ".[export]"

USER user
WORKDIR /home/user
ENV OMP_NUM_THREADS=1
CMD ["sh", "-c", "supernetic search --where 'macs<=1M' --minutes 1.5 --keep 2 --out runs/demo && supernetic predict runs/demo/models/model-1 embedded --top 1 | head -3"]
