#!/usr/bin/env node
// The same program by its older name.
import "./main.mjs";
