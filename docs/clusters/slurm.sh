#!/bin/sh
# A sweep as an array of jobs: sbatch --array=1-16 slurm.sh, in the directory of case.toml. To repeat the shards that
# `forebay merge` names: sbatch --array=3,7 slurm.sh. The number of shards stays.
# Join the results when all tasks have ended: forebay merge part-* -o results
#SBATCH --job-name=forebay
#SBATCH --cpus-per-task=1
#SBATCH --output=log-%a.txt
set -e
SHARDS=16
exec forebay sweep case.toml \
    --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" \
    --jobs "${SLURM_CPUS_PER_TASK:-1}" \
    --output "part-$SLURM_ARRAY_TASK_ID"
