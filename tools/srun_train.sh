#!/bin/bash
# A training on 4 nodes with 2 processes each, as a batch job of Slurm: sbatch tools/srun_train.sh
# The processes find each other through Open MPI, and their ranks in Slurm's variables. Each takes half of its node's
# cores.
#SBATCH --job-name=cnntrain
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --exclusive
#SBATCH --time=12:00:00
# Slurm asks the processes to stop two minutes before the time is over: they save a checkpoint, and the same line goes
# on from there when --restore-path RUN is added.
#SBATCH --signal=TERM@120
set -e
cd "$SLURM_SUBMIT_DIR"

# --cpu-bind=none leaves the division of the cores to cnntrain; without it, what Slurm binds stays.
srun --mpi=pmix --cpu-bind=none \
  cnntrain train --dataset imagenet --data-dir "$DATASETS_DIR/imagenet-data" --model-size 50 --batch-norm \
    --micro-batch-size 32 --gradient-accumulation-count 4 --optimiser momentum --lr-schedule cosine \
    --abs-learning-rate 0.4 --warmup-epochs 5 --epochs 90 --logs-path "logs/job-$SLURM_JOB_ID"
