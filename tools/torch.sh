#!/bin/sh
# Puts PyTorch's CPU build into the Python named by the first argument, on Linux without a GPU and where PyTorch's own index
# answers: the build of the package index carries gigabytes of CUDA libraries there. Else it installs nothing and leaves
# torch to pip, and says which it is. TORCH_INDEX names another index; "none" asks none.
set -e
python=$1
index=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
pin=$(sed -n 's/^\(torch==[^ #]*\).*/\1/p' requirements.txt)

if [ "$index" = none ]; then
    echo "torch: from pip's own index, as TORCH_INDEX=none asks."
elif [ "$(uname -s)" != Linux ]; then
    echo "torch: the one build that there is for this system."
elif gpus=$(nvidia-smi -L 2>/dev/null) && [ -n "$gpus" ]; then
    echo "torch: the CUDA build, since this machine has a GPU ($(echo "$gpus" | head -n 1 | sed 's/ (UUID.*//'))."
elif "$python" -c "import importlib.metadata as m; assert m.version('torch').startswith('${pin#torch==}')" 2>/dev/null; then
    echo "torch: the one that is installed."
# In a thread of its own: a name server that is silent heeds no time limit of the request.
elif ! "$python" - "$index/torch/" <<'END'
import os, sys, threading, urllib.request

def ask():
    try:
        with urllib.request.urlopen(sys.argv[1], timeout=4) as answer:
            os._exit(0 if answer.status == 200 else 1)
    except Exception:
        os._exit(1)

threading.Thread(target=ask, daemon=True).start()
threading.Event().wait(5)
os._exit(1)
END
then
    echo "torch: whatever pip finds, since PyTorch's CPU index does not answer; on Linux this can be several gigabytes."
elif "$python" -m pip install --disable-pip-version-check --no-deps --index-url "$index" "$pin"; then
    echo "torch: the CPU build, since this machine has no GPU."
else
    echo "torch: whatever pip finds, since PyTorch's CPU index has no $pin for this machine."
fi
