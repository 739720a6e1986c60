# Kawal as a container: one process, no root, nothing written outside /data, so that the root may be read-only.
#
#   docker build -t kawal .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges \
#     -p 127.0.0.1:9092:9092 -p 127.0.0.1:9644:9644 -p 127.0.0.1:9645:9645 -v kawal-data:/data kawal
#
# Clients are told to connect to 127.0.0.1:9092; for another address set KAWAL_ADVERTISED_LISTENERS=HOST:PORT.
# Metrics and health are at http://127.0.0.1:9644/metrics, /healthz and /readyz, the web console at http://127.0.0.1:9645.

ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY . .
# Compiled here and never again: the running container cannot write beside its code, and need not look whether the
# code has changed.
RUN python -m venv /opt/kawal \
 && /opt/kawal/bin/pip install --no-cache-dir --no-compile --disable-pip-version-check . \
 && /opt/kawal/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/kawal/lib \
 && rm -rf /opt/kawal/lib/python*/site-packages/pip /opt/kawal/lib/python*/site-packages/pip-*.dist-info \
      /opt/kawal/lib/python*/site-packages/setuptools* /opt/kawal/bin/pip*

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="kawal" \
      org.opencontainers.image.description="A Kafka-protocol gateway over its own write-ahead log" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/kawal /opt/kawal
RUN install --directory --owner=10001 --group=10001 --mode=0750 /data
ENV PATH=/opt/kawal/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    KAWAL_LISTENERS=0.0.0.0:9092 \
    KAWAL_ADVERTISED_LISTENERS=127.0.0.1:9092 \
    KAWAL_HTTP_LISTEN=0.0.0.0:9644 \
    KAWAL_CONSOLE_LISTENERS=0.0.0.0:9645 \
    KAWAL_LOG_DIRS=/data \
    KAWAL_INSECURE=true
# KAWAL_INSECURE: inside the container only the container's network can reach the ports, and what is published of them
# is the choice of whoever runs it; the example above publishes them on loopback.
USER 10001:10001
VOLUME /data
EXPOSE 9092 9644 9645
STOPSIGNAL SIGTERM
# Asks for ApiVersions, as every Kafka client does first.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --start-interval=1s CMD ["kawal", "health"]
ENTRYPOINT ["kawal"]
CMD ["serve"]
