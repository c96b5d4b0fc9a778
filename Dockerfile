# gptviz for a server without a GPU:   docker build -t gptviz . && docker run --rm -p 7860:7860 -v gptviz:/cache gptviz
# For a GPU, with NVIDIA's container toolkit: docker build --build-arg TORCH_INDEX=none … && docker run --gpus all …
ARG BASE=docker.io/library/python:3.13-slim-bookworm
FROM ${BASE}

WORKDIR /app
COPY requirements.txt ./
COPY tools/torch.sh tools/
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN TORCH_INDEX="$TORCH_INDEX" sh tools/torch.sh python3 \
    && python3 -m pip install --no-cache-dir --disable-pip-version-check -r requirements.txt

COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE ./
COPY gptviz gptviz
COPY assets assets
RUN python3 -m pip install --no-cache-dir --disable-pip-version-check --no-deps .

# Not root, and one volume for all that is fetched or converted: it outlives the container.
RUN useradd --create-home --uid 1000 gptviz && mkdir /cache && chown gptviz /cache
USER gptviz
WORKDIR /home/gptviz
ENV PYTHONUNBUFFERED=1 GPTVIZ_HOST=0.0.0.0 GPTVIZ_PORT=7860 GPTVIZ_CACHE=/cache/gptviz HF_HOME=/cache/huggingface
VOLUME /cache
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 CMD ["python3", "-c", \
    "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"GPTVIZ_PORT\"]}/health', timeout=4)"]
ENTRYPOINT ["gptviz"]
