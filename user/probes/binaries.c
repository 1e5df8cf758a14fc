/* SPDX-License-Identifier: MIT */
/* binaries: see binaries.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/elf_child.h"
#include "user/probes/binaries.h"

static struct binary *find(const struct binaries *binaries, const struct elf_file *file)
{
	for (size_t i = 0; i < binaries->count; i++)
		if (binaries->list[i]->file.inode == file->inode &&
		    binaries->list[i]->file.device == file->device)
			return binaries->list[i];
	return NULL;
}

/* Opens the expected file: another one may have its name by now. */
static const char *open_candidate(struct elf_file *file, const struct binary_candidate *candidate,
				  int *err)
{
	const char *wrong =
		elf_file_open(file, candidate->direct ? "" : candidate->root, candidate->path, err);
	const char *spare_wrong;
	struct elf_file spare;
	int spare_err;

	if (!candidate->expected || !candidate->spare ||
	    (!wrong && file->device == candidate->device && file->inode == candidate->inode))
		return wrong;
	spare_wrong = elf_file_open(&spare, "", candidate->spare, &spare_err);
	if (!spare_wrong) {
		elf_file_close(file);
		*file = spare;
		return NULL;
	}
	/* some file systems show other numbers in /proc/PID/maps than in stat(): the name decides
	 */
	if (!candidate->deleted)
		return wrong;
	elf_file_close(file);
	*err = -ESTALE;
	return "has been replaced or deleted since it was loaded (probing it nevertheless needs "
	       "CAP_SYS_ADMIN)";
}

static void binary_free(struct binary *binary)
{
	functions_free(&binary->functions);
	usdt_free(&binary->usdt);
	unwind_frames_free(&binary->frames);
	elf_file_close(&binary->file);
	free(binary->name);
	free(binary);
}

static int read_contents(struct binary *binary, const struct binary_candidate *candidate)
{
	int err =
		functions_read(&binary->functions, &binary->file, candidate->root, candidate->name);

	if (err)
		return err;
	err = usdt_read(&binary->usdt, &binary->file);
	if (err)
		return err;
	return unwind_throws(&binary->file, &binary->unwinds);
}

/* Takes the file. */
static int add(struct binaries *binaries, struct elf_file *file,
	       const struct binary_candidate *candidate, struct binary **out)
{
	size_t n = binaries->count;
	struct binary **grown = binaries->list, *binary = calloc(1, sizeof(*binary));
	int err;

	if (!binary) {
		elf_file_close(file);
		return -ENOMEM;
	}
	binary->file = *file;
	binary->number = (unsigned)n;
	snprintf(binary->attach, sizeof(binary->attach), "/proc/self/fd/%d", file->fd);
	err = -ENOMEM;
	binary->name = strdup(candidate->name);
	if (!binary->name)
		goto fail;
	if (!(n & (n - 1)))
		grown = realloc(grown, (n ? 2 * n : 1) * sizeof(struct binary *));
	if (!grown)
		goto fail;
	binaries->list = grown;
	err = read_contents(binary, candidate);
	if (err)
		goto fail;
	grown[binaries->count++] = *out = binary;
	return 0;
fail:
	binary_free(binary);
	return err;
}

int binaries_open(struct binaries *binaries, const struct binary_candidate *candidate,
		  struct binary **binary, const char **wrong)
{
	struct elf_file file;
	int err;

	*wrong = open_candidate(&file, candidate, &err);
	if (*wrong)
		return err;
	*binary = find(binaries, &file);
	if (*binary) {
		elf_file_close(&file);
		return 0;
	}
	err = add(binaries, &file, candidate, binary);
	*wrong = err ? elf_child_error(err) : NULL;
	return err;
}

const struct unwind_frames *binaries_frames(struct binary *binary)
{
	if (!binary->has_frames && unwind_frames_read(&binary->frames, &binary->file))
		return NULL;
	binary->has_frames = true;
	return &binary->frames;
}

void binaries_free(struct binaries *binaries)
{
	for (size_t i = 0; i < binaries->count; i++)
		binary_free(binaries->list[i]);
	free(binaries->list);
	*binaries = (struct binaries){0};
}
