/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_task.c - the adapters in a task's environment, for each way in which Slurm hands out GPUs.
 * What slurmstepd has put into the environment before the hook runs is in the cases; a real one is
 * asked in tests/cluster/map.sh. The environment itself is here.
 */
#include "unit.h"

#include "env.h"
#include "plugin.h"
#include "text.h"

#define VARIABLES 32

/* ---- in the place of slurmstepd: the task's environment ---- */

static struct {
	char name[64], value[ENV_LIST]; /* "": none */
} variables[VARIABLES];

static size_t find(const char *name)
{
	size_t i = 0;

	while (i < VARIABLES && strcmp(variables[i].name, name) != 0)
		i++;
	return i;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buf, int size)
{
	size_t i = find(name);

	(void)spank;
	if (i == VARIABLES)
		return ESPANK_ENV_NOEXIST;
	return snprintf(buf, (size_t)size, "%s", variables[i].value) < size ? ESPANK_SUCCESS
									    : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	size_t i = find(name);

	(void)spank;
	if (i < VARIABLES && !overwrite)
		return ESPANK_ENV_EXISTS;
	if (i == VARIABLES)
		i = find("");
	assert_true(i < VARIABLES);
	snprintf(variables[i].name, sizeof(variables[i].name), "%s", name);
	snprintf(variables[i].value, sizeof(variables[i].value), "%s", value);
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	size_t i = find(name);

	(void)spank;
	if (i == VARIABLES)
		return ESPANK_ENV_NOEXIST;
	variables[i].name[0] = '\0';
	return ESPANK_SUCCESS;
}

/* ---- a node of 8 GPUs with an adapter each, and a ninth adapter that no GPU uses ---- */

static struct plugin plugin;

static int setup(void **state)
{
	char *at = plugin.env_text;

	(void)state;
	memset(variables, 0, sizeof(variables));
	memset(&plugin, 0, sizeof(plugin));
	plugin.wanted = ENV_UCX | ENV_NCCL | ENV_NVSHMEM;
	plugin.step.step = 0;
	at += sprintf(at, "fabric-env 1 5b7c1f0e-2f4a-4d0e-9f3b-6a1d8c2e7b90\nnccl =");
	for (int i = 0; i < 8; i++)
		at += sprintf(at, "%smlx5_%d:1", i ? "," : "", i);
	for (int i = 0; i < 8; i++)
		at += sprintf(at, "\ngpu %d mlx5_%d:1 mlx5_%d:1", i, i, i);
	at += sprintf(at, "\n");
	plugin.env_len = (size_t)(at - plugin.env_text);
	return 0;
}

/* The environment before, "NAME=VALUE" each, and then the hook. */
static void run(const char *const *before)
{
	for (; *before; before++) {
		const char *equals = strchr(*before, '=');
		char name[64] = "";

		memcpy(name, *before, (size_t)(equals - *before));
		spank_setenv(NULL, name, equals + 1, 1);
	}
	plugin_task_env(NULL, &plugin);
}

static void is(const char *name, const char *value)
{
	size_t i = find(name);
	const char *found = i < VARIABLES ? variables[i].value : "(none)";

	if (strcmp(found, value) != 0)
		fail_msg("%s is %s, should be %s", name, found, value);
}

#define ALL "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1,mlx5_6:1,mlx5_7:1"
#define NONE "(none)"

/* What has to be the same in every task of a node, whatever its GPUs are. */
static void becomes(const char *list)
{
	is("UCX_NET_DEVICES", list);
	is("NVSHMEM_HCA_LIST", list);
	is("NCCL_IB_HCA", "=" ALL);
}

static void each_way_to_hand_out_gpus(void **state)
{
	static const struct {
		const char *what;
		const char *before[5];
		const char *list;
	} cases[] = {
		{ "torchrun: one task with all GPUs",
		  { "SLURM_STEP_GPUS=0,1,2,3,4,5,6,7", "CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7" },
		  ALL },
		{ "8 tasks without --gpus-per-task: each sees all",
		  { "SLURM_STEP_GPUS=0,1,2,3,4,5,6,7", "SLURM_LOCALID=5" },
		  ALL },
		{ "--gpus-per-task=1: Slurm has narrowed the list to the task's",
		  { "SLURM_STEP_GPUS=5", "CUDA_VISIBLE_DEVICES=0", "SLURM_LOCALID=5" },
		  "mlx5_5:1" },
		{ "--gpu-bind=map_gpu:3,2,1,0",
		  { "SLURM_STEP_GPUS=3", "CUDA_VISIBLE_DEVICES=3", "SLURM_LOCALID=0" },
		  "mlx5_3:1" },
		{ "--gpu-bind=single:2", { "SLURM_STEP_GPUS=6,7" }, "mlx5_6:1,mlx5_7:1" },
		{ "ConstrainDevices: CUDA counts from 0 in the cgroup",
		  { "SLURM_STEP_GPUS=4,6", "CUDA_VISIBLE_DEVICES=0,1" },
		  "mlx5_4:1,mlx5_6:1" },
		{ "no ConstrainDevices: CUDA has the node's numbers",
		  { "SLURM_STEP_GPUS=4,6", "CUDA_VISIBLE_DEVICES=4,6" },
		  "mlx5_4:1,mlx5_6:1" },
		{ "MIG: CUDA has UUIDs, Slurm indexes",
		  { "SLURM_STEP_GPUS=2", "CUDA_VISIBLE_DEVICES=MIG-GPU-aaaa/2/0" },
		  "mlx5_2:1" },
		{ "a task without a GPU", { "CUDA_VISIBLE_DEVICES=" }, NONE },
		{ "--gres=none in a job with GPUs: the batch host's are inherited",
		  { "SLURM_JOB_GPUS=0,1" },
		  NONE },
		{ "a GPU that the map does not have", { "SLURM_STEP_GPUS=0,8" }, NONE },
		{ "something that is no list", { "SLURM_STEP_GPUS=0-3" }, NONE },
		{ "mpirun: its daemon is the task of the step and hands all on",
		  { "SLURM_STEP_GPUS=0,1,2,3", "OMPI_MCA_ess=slurm" },
		  "mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(state);
		print_message("%s\n", cases[i].what);
		run(cases[i].before);
		becomes(cases[i].list);
	}
}

/* A batch script has the job's GPUs of its node; srun inside hands its environment on. */
static void a_step_inside_a_batch_script(void **state)
{
	(void)state;
	plugin.step.step = STEP_ID_BATCH;
	run((const char *[]){ "SLURM_JOB_GPUS=0,1", NULL });
	becomes("mlx5_0:1,mlx5_1:1");
	plugin.step.step = 0;
	run((const char *[]){ "SLURM_STEP_GPUS=1", NULL });
	becomes("mlx5_1:1");
	/* --overlap with --gres=none: what the outer step's was is gone */
	spank_unsetenv(NULL, "SLURM_STEP_GPUS");
	run((const char *[]){ NULL });
	becomes(NONE);
	/* and a step that wants none of it */
	plugin.wanted = 0;
	run((const char *[]){ "SLURM_STEP_GPUS=1", NULL });
	is("NCCL_IB_HCA", NONE);
	is("SLURM_FABRIC_NCCL_IB_HCA", NONE);
}

static void what_the_user_set_stays(void **state)
{
	(void)state;
	run((const char *[]){ "SLURM_STEP_GPUS=1", "UCX_NET_DEVICES=mine", "NCCL_IB_HCA=", NULL });
	is("UCX_NET_DEVICES", "mine");
	is("NCCL_IB_HCA", "");
	is("NVSHMEM_HCA_LIST", "mlx5_1:1");
	/* in the step inside, too: the script has changed what was ours */
	run((const char *[]){ "NVSHMEM_HCA_LIST=mlx5_9:1", NULL });
	is("NVSHMEM_HCA_LIST", "mlx5_9:1");
	is("SLURM_FABRIC_NVSHMEM_HCA_LIST", NONE);
}

static void only_what_is_wanted(void **state)
{
	(void)state;
	plugin.wanted = ENV_NCCL;
	run((const char *[]){ "SLURM_STEP_GPUS=1", NULL });
	is("UCX_NET_DEVICES", NONE);
	is("NVSHMEM_HCA_LIST", NONE);
	is("NCCL_IB_HCA", "=" ALL);
}

static void without_an_env_file(void **state)
{
	(void)state;
	plugin.env_len = 0;
	run((const char *[]){ "SLURM_STEP_GPUS=1", NULL });
	is("UCX_NET_DEVICES", NONE);
	is("NCCL_IB_HCA", NONE);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_way_to_hand_out_gpus), TEST(a_step_inside_a_batch_script),
		TEST(what_the_user_set_stays),	 TEST(only_what_is_wanted),
		TEST(without_an_env_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
