// Builds the page's script and style into the Python package; with --tests, the tests into .tests/.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv.includes("--to")
  ? process.argv[process.argv.indexOf("--to") + 1]
  : join(here, "../src/camilla/show/report/static");

function files(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((one) => (one.isDirectory() ? files(join(folder, one.name)) : [join(folder, one.name)]))
    .sort();
}

/** SHA-256 over the paths and contents of all that the built files depend on. */
function sourceHash() {
  const sha = createHash("sha256");
  for (const file of [...files(join(here, "src")), join(here, "build.mjs"), join(here, "package-lock.json")]) {
    sha.update(relative(here, file).replaceAll("\\", "/") + "\0");
    sha.update(readFileSync(file));
  }
  return sha.digest("hex");
}

if (process.argv.includes("--tests")) {
  rmSync(join(here, ".tests"), { recursive: true, force: true });
  await build({
    entryPoints: files(join(here, "test")).filter((file) => file.endsWith(".test.ts")),
    outdir: join(here, ".tests"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
  });
} else {
  const both = { bundle: true, minify: true, write: false, charset: "utf8", legalComments: "none" };
  const script = await build({ ...both, entryPoints: [join(here, "src/main.ts")], format: "iife", target: "es2022" });
  const style = await build({ ...both, entryPoints: [join(here, "src/report.css")] });
  const mark = `/* sources ${sourceHash()} */\n`;
  writeFileSync(join(target, "report.js"), mark + script.outputFiles[0].text);
  writeFileSync(join(target, "report.css"), mark + style.outputFiles[0].text);
}
