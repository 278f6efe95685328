#!/bin/sh
# Measure the same on every node of a Slurm job, judge the nodes, and drain those that are slow, wrong or failed.
#
#     sbatch --nodes=16 --exclusive recipes/fleet-slurm.sh run FOLDER [options of `levelfield bench`]
#     recipes/fleet-slurm.sh check FOLDER/fleet.prom
#
# `run` is the job: FOLDER lies on a file system that all nodes share, and srun starts one `levelfield bench` a node. It
# ends as `levelfield fleet gather` does, or with 3 where that finds all fine and srun failed.
# `check` is for slurm.conf: as Prolog or Epilog, `fleet-slurm.sh check FILE` ends with 1 on a node that the last verdict
# calls slow, wrong or failed, and Slurm drains a node whose Prolog or Epilog fails. Without a verdict, or on a node that
# it does not name, it ends with 0: what is not known drains nothing.
#
# It was never run on a real Slurm cluster; the tests run it with a stand-in for srun.
#SBATCH --job-name=levelfield-fleet
#SBATCH --ntasks-per-node=1
set -eu

usage() {
    echo "Name what to do: fleet-slurm.sh run FOLDER [options], or fleet-slurm.sh check FOLDER/fleet.prom" >&2
    exit 2
}

[ "$#" -ge 2 ] || usage
task=$1
where=$2
shift 2
case $task in
run)
    mkdir -p "$where"
    # One task a node; one that fails ends none of the others. The shell on the node knows the node's name.
    # shellcheck disable=SC2016
    code=0
    srun --nodes="${SLURM_JOB_NUM_NODES:?Run it with sbatch.}" --ntasks-per-node=1 --kill-on-bad-exit=0 \
        sh -c 'folder=$1; shift; exec ${LEVELFIELD:-levelfield} bench --reports "$folder/$SLURMD_NODENAME" "$@"' \
        fleet "$where" "$@" ||
        { echo "srun ended with $?: some node has no record, or a result that failed." >&2; code=3; }
    ${LEVELFIELD:-levelfield} fleet gather "$where" \
        --output "$where/fleet.html" --output "$where/fleet.json" --output "$where/fleet.prom" || code=$?
    exit "$code"
    ;;
check)
    [ -r "$where" ] || exit 0
    mine="levelfield_node_verdict{node=\"${SLURMD_NODENAME:?It is set in a Prolog and an Epilog.}\","
    while IFS= read -r line; do
        case $line in
        "$mine"*'verdict="slow"} 1' | "$mine"*'verdict="computes wrongly"} 1' | "$mine"*'verdict="failed"} 1')
            echo "levelfield: $line" >&2
            exit 1
            ;;
        esac
    done <"$where"
    ;;
*) usage ;;
esac
