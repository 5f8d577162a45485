package nowhere
