/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * test_fault_plugin.c - fabric.so in slurmstepd while calls fail: every hook succeeds, what
 * sfabricd is told can be read, and a task has the right list of adapters or none.
 *
 * The hooks are called as slurmstepd calls them; what they call of Slurm is here.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "fault.h"
#include "plugin.h"

/* ---- in the place of slurmstepd ---- */

static struct spank_option *options[OPTION_COUNT];
static size_t option_count;
static char ucx[256]; /* the task's UCX_NET_DEVICES */
static bool has_ucx;

spank_context_t spank_context(void)
{
	return S_CTX_REMOTE;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	(void)spank;
	if (option_count < OPTION_COUNT)
		options[option_count++] = option;
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	va_list ap;

	(void)spank;
	va_start(ap, item);
	if (item == S_STEP_ALLOC_CORES)
		*va_arg(ap, char **) = (char *)"0-3";
	else if (item == S_TASK_PID)
		*va_arg(ap, pid_t *) = 4711;
	else
		*va_arg(ap, uint32_t *) = item == S_JOB_ID	 ? 7
					  : item == S_JOB_STEPID ? 3
					  : item == S_JOB_NNODES ? 1
								 : 0;
	va_end(ap);
	return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buf, int size)
{
	(void)spank;
	if (!strcmp(name, "SLURM_STEP_GPUS"))
		snprintf(buf, (size_t)size, "0,1");
	else if (!strcmp(name, "UCX_NET_DEVICES") && has_ucx)
		snprintf(buf, (size_t)size, "%s", ucx);
	else
		return ESPANK_ENV_NOEXIST;
	return ESPANK_SUCCESS;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	(void)spank;
	(void)overwrite;
	if (!strcmp(name, "UCX_NET_DEVICES")) {
		snprintf(ucx, sizeof(ucx), "%s", value);
		has_ucx = true;
	}
	return ESPANK_SUCCESS;
}

spank_err_t spank_unsetenv(spank_t spank, const char *name)
{
	(void)spank;
	has_ucx = has_ucx && strcmp(name, "UCX_NET_DEVICES") != 0;
	return ESPANK_SUCCESS;
}

void slurm_info(const char *format, ...)
{
	(void)format;
}

void slurm_error(const char *format, ...)
{
	(void)format;
}

void slurm_debug(const char *format, ...)
{
	(void)format;
}

/* ---- in the place of sfabricd ---- */

static int listen_here(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sfabricd.sock", fault_folder());
	must(bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
	must(listen(fd, 4) == 0);
	return fd;
}

/* All that was said: every packet can be read, and they come in their order. */
static size_t read_packets(int listening)
{
	char text[PACKET_MAX];
	struct err err = { "" };
	struct packet p;
	size_t count = 0;
	ssize_t len;
	int fd;

	while ((fd = accept(listening, NULL, NULL)) >= 0) {
		while ((len = recv(fd, text, sizeof(text), MSG_DONTWAIT)) > 0) {
			if (packet_read(text, (size_t)len, &p, &err) < 0)
				fault_broken(__FILE__, __LINE__, err.text);
			must(p.job == 7 && p.step == 3);
			must(p.kind != PACKET_STEP_END || (p.status_known && p.status == 0));
			count++;
		}
		close(fd);
	}
	return count;
}

static void put_env_file(void)
{
	char *path = io_format("%s/env", fault_folder()), boot[37], *text;

	must(io_boot_id(boot, NULL) == 0);
	text = io_format("fabric-env 1 %s\ngpu 0 mlx5_0:1 mlx5_0:1\ngpu 1 mlx5_1:1 mlx5_1:1\n",
			 boot);
	must(io_write_atomic(path, text, strlen(text), 0644, NULL) == 0);
	free(text);
	free(path);
}

/* ---- a step ---- */

static void a_step_is_told_of(void)
{
	char *run = io_format("run=%s", fault_folder()), *args[] = { run, (char *)"env=ucx" };
	int listening = listen_here(), rc;
	size_t packets;

	put_env_file();
	option_count = 0;
	has_ucx = false;
	fault_on();
	rc = slurm_spank_init(NULL, 2, args);
	for (size_t i = 0; i < option_count; i++)
		if (options[i]->val == OPTION_CLASS)
			rc |= options[i]->cb(options[i]->val, "compact", 1);
	rc |= slurm_spank_init_post_opt(NULL, 2, args);
	rc |= slurm_spank_task_init(NULL, 2, args);
	rc |= slurm_spank_task_post_fork(NULL, 2, args);
	rc |= slurm_spank_task_exit(NULL, 2, args);
	rc |= slurm_spank_exit(NULL, 2, args);
	fault_off();
	must(rc == 0);
	packets = read_packets(listening);
	must(packets == 3 || (fault_hit() && packets < 3));
	must(has_ucx || fault_hit());
	must(!has_ucx || !strcmp(ucx, "mlx5_0:1,mlx5_1:1"));
	close(listening);
	free(run);
}

static int need_root(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("only root is believed: skipped\n");
		exit(77);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { FAULT_WORK(a_step_is_told_of) };

	return cmocka_run_group_tests(tests, need_root, NULL);
}
