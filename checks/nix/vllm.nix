# The patched package, without importing it (that needs torch: see `imports`): the command line's own
# proof, by content, that the tree is the wheel plus the series.
{
  runCommand,
  python,
  vllm,
  qwen3090-cli,
}:
runCommand "vllm-check" { } ''
  export HOME=$TMPDIR
  site=${vllm}/${python.sitePackages}
  ${qwen3090-cli}/bin/qwen3090 patches verify --tree $site | tee said
  if grep -qE 'missing|altered|no marker' said; then exit 1; fi
  [ -f $site/vllm/__pycache__/__init__.cpython-*.pyc ]
  if find $site/vllm -name '*.orig' -o -name '*.rej' | grep .; then exit 1; fi
  touch $out
''
