/* SPDX-License-Identifier: MIT */
/* binaries: see binaries.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/binaries.h"
#include "user/elf/unwind.h"

static struct binary *find(const struct binaries *binaries, const struct image *image)
{
	for (size_t i = 0; i < binaries->count; i++)
		if (binaries->list[i]->image.inode == image->inode &&
		    binaries->list[i]->image.device == image->device)
			return binaries->list[i];
	return NULL;
}

/* Opens the file that is expected: what has its name may be another one by now. */
static const char *open_place(struct image *image, const struct place *place, int *err)
{
	const char *wrong = image_open(image, place->direct ? "" : place->root, place->path, err);
	const char *spare_wrong;
	struct image spare;
	int spare_err;

	if (!place->expected || !place->spare ||
	    (!wrong && image->device == place->device && image->inode == place->inode))
		return wrong;
	spare_wrong = image_open(&spare, "", place->spare, &spare_err);
	if (!spare_wrong) {
		image_close(image);
		*image = spare;
		return NULL;
	}
	/* some file systems have other numbers in maps than stat() gives: the name decides */
	if (!place->deleted)
		return wrong;
	image_close(image);
	*err = -ESTALE;
	return "has been replaced or deleted since it was loaded (to probe it all the same takes "
	       "CAP_SYS_ADMIN)";
}

static void binary_free(struct binary *binary)
{
	functions_free(&binary->functions);
	usdt_free(&binary->usdt);
	image_close(&binary->image);
	free(binary->name);
	free(binary);
}

/* Takes the image. */
static int add(struct binaries *binaries, struct image *image, const struct place *place,
	       struct binary **out)
{
	size_t n = binaries->count;
	struct binary **grown = binaries->list, *binary = calloc(1, sizeof(*binary));
	int err = -ENOMEM;

	if (!binary) {
		image_close(image);
		return -ENOMEM;
	}
	binary->image = *image;
	binary->number = (unsigned)n;
	snprintf(binary->attach, sizeof(binary->attach), "/proc/self/fd/%d", image->fd);
	binary->name = strdup(place->name);
	if (!(n & (n - 1)))
		grown = realloc(grown, (n ? 2 * n : 1) * sizeof(struct binary *));
	if (grown)
		binaries->list = grown;
	if (binary->name && grown)
		err = functions_read(&binary->functions, &binary->image, place->root, place->name);
	if (!err)
		err = usdt_read(&binary->usdt, &binary->image);
	if (err) {
		binary_free(binary);
		return err;
	}
	binary->unwinds = image_unwinds(&binary->image);
	grown[binaries->count++] = *out = binary;
	return 0;
}

int binaries_open(struct binaries *binaries, const struct place *place, struct binary **binary,
		  const char **wrong)
{
	struct image image;
	int err;

	*wrong = open_place(&image, place, &err);
	if (*wrong)
		return err;
	*binary = find(binaries, &image);
	if (*binary) {
		image_close(&image);
		return 0;
	}
	return add(binaries, &image, place, binary);
}

void binaries_free(struct binaries *binaries)
{
	for (size_t i = 0; i < binaries->count; i++)
		binary_free(binaries->list[i]);
	free(binaries->list);
	*binaries = (struct binaries){0};
}
