# Kawal as a container: one process, no root, nothing written outside /data (run it with --read-only if you like).
#
#   docker build -t kawal .
#   docker run -p 127.0.0.1:9092:9092 -v kawal-data:/data kawal
#
# Clients are told to connect to 127.0.0.1:9092; for another address set KAWAL_ADVERTISED_LISTENERS=HOST:PORT.

ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /opt/kawal \
 && /opt/kawal/bin/pip install --no-cache-dir --disable-pip-version-check .

FROM python:${PYTHON}-slim
COPY --from=build /opt/kawal /opt/kawal
RUN mkdir /data && chown 10001:10001 /data
ENV PATH=/opt/kawal/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    KAWAL_LISTENERS=0.0.0.0:9092 \
    KAWAL_ADVERTISED_LISTENERS=127.0.0.1:9092 \
    KAWAL_LOG_DIRS=/data \
    KAWAL_INSECURE=true
# KAWAL_INSECURE: inside the container only the container's network can reach the port, and what is published of it
# is the choice of whoever runs it; the example above publishes it on loopback.
USER 10001:10001
VOLUME /data
EXPOSE 9092
STOPSIGNAL SIGTERM
# ApiVersions v0, correlation id 1: healthy is who answers it without an error.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --start-interval=1s \
  CMD ["python", "-c", "import socket; s = socket.create_connection(('127.0.0.1', 9092), 2); s.sendall(bytes.fromhex('0000000a0012000000000001ffff')); raise SystemExit(s.recv(10)[4:] != b'\\0\\0\\0\\1\\0\\0')"]
ENTRYPOINT ["kawal"]
CMD ["serve"]
