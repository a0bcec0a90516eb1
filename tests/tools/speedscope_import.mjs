// SPDX-License-Identifier: MIT
// Runs speedscope's importer without a browser: node speedscope_import.mjs RELEASE_FOLDER FILE
//
// Prints {"profiles": [{"name", "unit", "total", "frames": [{"name", "file", "line", "self", "total"}, ...]}, ...]},
// frames by falling self weight. speedscope publishes only its built page, one script that starts the application in
// its last statement. We run that script without this statement, and hand out its importer instead.
import { readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { runInThisContext } from 'node:vm'

async function load_importer(release) {
  const script = readdirSync(release).find(name => /^speedscope-\w+\.js$/.test(name))
  const source = readFileSync(join(release, script), 'utf8')

  const start = source.lastIndexOf('console.log(`speedscope v')
  const importer = source.match(/await (\w+)\)\.importProfilesFromArrayBuffer\(/)
  if (start < 0 || !importer) throw new Error(`${script} is not built as we know it; see ${import.meta.filename}`)

  // All that the script asks of a browser while it is loaded.
  globalThis.window = { location: { hash: '', protocol: 'file:' }, localStorage: {} }
  return runInThisContext(`${source.slice(0, start)} return ${importer[1]} })()`, { filename: script })
}

function describe(profile) {
  const frames = []
  profile.forEachFrame(frame => frames.push({
    name: frame.name,
    file: frame.file ?? null,
    line: frame.line ?? null,
    self: frame.getSelfWeight(),
    total: frame.getTotalWeight(),
  }))
  frames.sort((a, b) => b.self - a.self || b.total - a.total)
  return { name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(), frames }
}

console.log = () => {} // Where speedscope says which format it sees; standard output is ours.
const [release, file] = process.argv.slice(2)
const { importProfilesFromArrayBuffer } = await load_importer(release)
const bytes = readFileSync(file)
const group = await importProfilesFromArrayBuffer(
  basename(file), bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
if (!group) throw new Error(`speedscope does not recognise ${file}`)
process.stdout.write(JSON.stringify({ profiles: group.profiles.map(describe) }, null, 1) + '\n')
