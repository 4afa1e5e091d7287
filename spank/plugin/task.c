/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task.c - fabric.so between fork and exec of a task, as the user: the task's adapters in
 * its environment.
 *
 * No allocation and no I/O of ours here. What the user set is left alone. What another step's task
 * had from us is not the user's (a batch script hands its whole environment to the steps inside),
 * so each variable has a companion with the value that we set: where both are equal the value is
 * ours, and is taken back before the new one is set.
 */
#include <string.h>

#include "env.h"
#include "plugin.h"
#include "text.h"

static const struct variable {
	int bit;
	const char *name, *companion;
} variables[] = {
	{ ENV_UCX, "UCX_NET_DEVICES", "SLURM_FABRIC_UCX_NET_DEVICES" },
	{ ENV_NVSHMEM, "NVSHMEM_HCA_LIST", "SLURM_FABRIC_NVSHMEM_HCA_LIST" },
	{ ENV_NCCL, "NCCL_IB_HCA", "SLURM_FABRIC_NCCL_IB_HCA" },
};

#define VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* Takes back what we set in an outer step. */
static void forget(spank_t spank, const struct variable *v)
{
	char value[ENV_LIST], ours[ENV_LIST];

	if (spank_getenv(spank, v->companion, ours, sizeof(ours)) != ESPANK_SUCCESS)
		return;
	spank_unsetenv(spank, v->companion);
	if (spank_getenv(spank, v->name, value, sizeof(value)) == ESPANK_SUCCESS &&
	    !strcmp(value, ours))
		spank_unsetenv(spank, v->name);
}

/*
 * The GPUs of this task by gres index. Slurm narrows SLURM_STEP_GPUS to the task's own where tasks
 * are bound to GPUs (--gpus-per-task, --gpu-bind) before this hook runs; otherwise all tasks of the
 * step have the same list. The batch step has SLURM_JOB_GPUS only.
 */
static bool task_gpus(spank_t spank, const struct plugin *p, char *gpus, int size)
{
	const char *name = p->step.step == STEP_ID_BATCH ? "SLURM_JOB_GPUS" : "SLURM_STEP_GPUS";

	return spank_getenv(spank, name, gpus, size) == ESPANK_SUCCESS && plugin_gpus_valid(gpus);
}

static bool list_for(spank_t spank, const struct plugin *p, int bit, char list[ENV_LIST])
{
	char gpus[sizeof(p->step.gpus)];

	if (bit == ENV_NCCL)
		return env_nccl(p->env_text, p->env_len, list, ENV_LIST);
	return task_gpus(spank, p, gpus, sizeof(gpus)) &&
	       env_gpu_list(p->env_text, p->env_len, bit, gpus, list, ENV_LIST);
}

void plugin_task_env(spank_t spank, const struct plugin *p)
{
	char list[ENV_LIST];

	for (size_t i = 0; i < VARIABLES; i++) {
		const struct variable *v = &variables[i];

		forget(spank, v);
		if (!(p->wanted & v->bit) || p->env_len == 0)
			continue;
		if (spank_getenv(spank, v->name, list, sizeof(list)) != ESPANK_ENV_NOEXIST)
			continue;
		if (!list_for(spank, p, v->bit, list))
			continue;
		if (spank_setenv(spank, v->name, list, 1) == ESPANK_SUCCESS)
			spank_setenv(spank, v->companion, list, 1);
	}
}
