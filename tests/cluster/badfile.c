/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * badfile.c - a counter file that behaves as badly as a driver can: a FUSE file system whose root
 * is one regular file, mounted over the counter.
 *
 * usage: badfile FILE MODE
 *   hang    a read never comes back
 *   einval  a read fails with EINVAL
 *   na      "N/A (no PMA)", as mlx5 says for a port without one
 *   garbage 64 KiB of bytes that are no number
 * It serves until it is ended, which also ends the reads that hang; `umount FILE` puts the file
 * back. The kernel's protocol is spoken directly (linux/fuse.h): nothing needs to be installed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define GARBAGE 65536

static int device;

static void answer(uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len),
					.error = -error,
					.unique = unique };
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)data, len } };

	if (writev(device, parts, len ? 2 : 1) < 0 && errno != ENOENT) /* who asked is gone */
		exit(1);
}

static void answer_attr(uint64_t unique)
{
	struct fuse_attr_out out = {
		.attr_valid = 3600,
		.attr = { .ino = 1, .mode = S_IFREG | 0444, .nlink = 1, .size = 4096 },
	};

	answer(unique, 0, &out, sizeof(out));
}

static void answer_init(uint64_t unique, const struct fuse_init_in *in)
{
	struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
				     .minor = in->minor < FUSE_KERNEL_MINOR_VERSION
						      ? in->minor
						      : FUSE_KERNEL_MINOR_VERSION,
				     .max_write = 4096 };

	answer(unique, 0, &out, sizeof(out));
}

static void answer_read(uint64_t unique, const struct fuse_read_in *in, const char *mode)
{
	static char garbage[GARBAGE];
	static const char na[] = "N/A (no PMA)\n";

	if (!strcmp(mode, "hang"))
		return;
	if (!strcmp(mode, "einval")) {
		answer(unique, EINVAL, NULL, 0);
		return;
	}
	if (!strcmp(mode, "na")) {
		size_t left = in->offset < strlen(na) ? strlen(na) - in->offset : 0;

		answer(unique, 0, na + strlen(na) - left, left < in->size ? left : in->size);
		return;
	}
	memset(garbage, 0xa5, sizeof(garbage));
	answer(unique, 0, garbage, in->size < sizeof(garbage) ? in->size : sizeof(garbage));
}

static void serve(const struct fuse_in_header *head, const void *body, const char *mode)
{
	const struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };

	switch (head->opcode) {
	case FUSE_INIT:
		answer_init(head->unique, body);
		break;
	case FUSE_GETATTR:
		answer_attr(head->unique);
		break;
	case FUSE_OPEN:
		answer(head->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(head->unique, body, mode);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(head->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(head->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[1 << 17];
	char options[128];

	if (argc != 3) {
		fprintf(stderr, "usage: badfile FILE hang|einval|na|garbage\n");
		return 2;
	}
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=100444,user_id=0,group_id=0,allow_other",
		 device);
	if (device < 0 ||
	    mount("badfile", argv[1], "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0) {
		fprintf(stderr, "badfile: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	for (;;) {
		ssize_t len = read(device, request, sizeof(request));
		const struct fuse_in_header *head = (const void *)request;

		if (len < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (len < (ssize_t)sizeof(*head))
			return errno == ENODEV ? 0 : 1; /* unmounted */
		serve(head, request + sizeof(*head), argv[2]);
	}
}
