# The command:  docker build -t gdl-match .
#               docker run --rm -v "$PWD:/data" gdl-match left.jpg right.jpg
# The page:     docker run --rm -p 8765:8765 gdl-match serve --host 0.0.0.0
FROM python:3.12-slim
COPY . /src
RUN pip install --no-cache-dir -c /src/.constraints.txt "/src[serve]" && rm -r /src
RUN useradd --create-home gdl && mkdir /data && chown gdl /data
USER gdl
WORKDIR /data
# compiles the kernels, which are kept
RUN gdl-match --demo --out /tmp/demo && rm -r /tmp/demo
EXPOSE 8765
ENTRYPOINT ["gdl-match"]
CMD ["--help"]
