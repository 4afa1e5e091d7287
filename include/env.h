/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * env.h - fabric.so's side of the env file: from its text and a task's GPUs to the variables.
 *
 * libc only and no allocation: this runs in slurmstepd, between fork and exec.
 */
#ifndef FABRIC_ENV_H
#define FABRIC_ENV_H

#include <stdbool.h>
#include <stddef.h>

#define ENV_LIST 4096

enum { ENV_UCX = 1, ENV_NCCL = 2, ENV_NVSHMEM = 4 };

/* "none", "ucx,nccl", ...: a set of ENV_ bits; -1 when a word is unknown ("default" is the caller's). */
int env_wanted_parse(const char *text);

/* True when text (len bytes) is an env file of version 1 made under this boot id. */
bool env_file_valid(const char *text, size_t len, const char *boot_id);

/* The node's NCCL list into out; false when the file has none or it is too long. */
bool env_nccl(const char *text, size_t len, char *out, size_t size);

/*
 * The lists of the GPUs named by gres index ("0,3"), joined in that order, each port once. which:
 * ENV_UCX or ENV_NVSHMEM. false when no GPU is named, one is unknown to the file, none has a port,
 * or the list does not fit.
 */
bool env_gpu_list(const char *text, size_t len, int which, const char *gpus, char *out, size_t size);

#endif
