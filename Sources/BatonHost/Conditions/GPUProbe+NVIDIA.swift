import BatonModel
import BatonProcess

/// The GPUs that `nvidia-smi` lists. The program runs as seldom as possible, because each run costs processor time.
struct NVIDIAList {
  /// - `gpus`: the GPUs, or `nil` if they are unknown.
  /// - `isSource`: whether this host has, or had, `nvidia-smi` or NVIDIA's driver. Only then is `nvidia-smi` named as a
  ///   source.
  /// - `remark`: the reason of the last failure, or an empty string.
  typealias Answer = (gpus: [GPU]?, isSource: Bool, remark: String)

  /// The driver makes a folder in here for each of its GPUs.
  private static let folder = "proc/driver/nvidia/gpus"
  /// Where `nvidia-smi` may be, besides the standard path and the worker's own path: the folders of NixOS, WSL, Linux
  /// distributions and containers.
  private static let places = [
    "/run/current-system/sw/bin", "/usr/lib/wsl/lib", "/opt/bin", "/usr/local/nvidia/bin", "/usr/local/cuda/bin",
    "/usr/lib/nvidia/bin", "/usr/lib/nvidia/current", "/snap/bin",
  ]
  private static let program = "nvidia-smi"
  private static let query = ["--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits"]

  private let settings: GPUSettings
  private let command: SystemCommand
  private let searchPath: [String]
  private var names: [String]?
  private var askedAt: Instant?
  private var listed: [GPU]?
  private var failure: String?
  private var failingSince: Instant?
  private var isSource = false
  private var hasDriver = false

  /// - Parameter searchPath: folders that are searched in addition to the usual ones. Relative paths are ignored.
  init(_ settings: GPUSettings, _ command: SystemCommand, searchPath: [String]) {
    self.settings = settings
    self.command = command
    self.searchPath = searchPath.filter { $0.hasPrefix("/") }
  }

  /// Returns the GPUs. Runs `nvidia-smi` if the driver's list of GPUs has changed, or if the last run is older than the
  /// interval in the settings.
  mutating func read(_ root: SystemRoot, at now: Instant) async -> Answer {
    let present = root.exists(Self.folder) ? root.names(in: Self.folder) : nil
    if isDue(at: now, present) {
      (names, askedAt) = (present, now)
      hasDriver = Self.hasDriver(root)
      take(await ask(root), at: now)
    }
    return answer(at: now)
  }

  /// Whether NVIDIA's driver is loaded. The kernel module makes the version file or the folders of GPUs; in a container
  /// there may be only the device files. A host with the driver may have GPUs even if `nvidia-smi` cannot be run.
  private static func hasDriver(_ root: SystemRoot) -> Bool {
    root.exists("proc/driver/nvidia/version") || !root.names(in: folder).isEmpty
      || root.names(in: "dev").contains { $0.hasPrefix("nvidia") }
  }

  /// Runs `nvidia-smi` from the standard path, or else from the first other folder in which it is found.
  private func ask(_ root: SystemRoot) async -> SystemCommand.Answer {
    let answer = await command.run([Self.program] + Self.query, settings.patience)
    guard answer == .missing else { return answer }
    for place in searchPath + Self.places where root.exists("\(place.dropFirst())/\(Self.program)") {
      let answer = await command.run(["\(place)/\(Self.program)"] + Self.query, settings.patience)
      if answer != .missing { return answer }
    }
    return .missing
  }

  private func isDue(at now: Instant, _ present: [String]?) -> Bool {
    guard let askedAt, present == names else { return true }
    return now - askedAt >= (failure == nil ? settings.interval : settings.retryInterval)
  }

  private mutating func take(_ answer: SystemCommand.Answer, at now: Instant) {
    let wasThere = isSource
    if answer != .missing || hasDriver { isSource = true }
    switch answer {
    case .output(let text):
      let (gpus, words) = NVIDIAOutput.parse(text)
      if !gpus.isEmpty || words.isEmpty || text.contains("No devices were found") {
        succeed(with: gpus, at: now)
      } else {
        fail(words, at: now)
      }
    case .missing where hasDriver:
      fail(
        "this host has an NVIDIA driver, and nvidia-smi is not found: install it (it comes with the driver's "
          + "utilities), or put its folder on the worker's PATH", at: now)
    case .missing: wasThere ? fail("nvidia-smi can no longer be found", at: now) : succeed(with: [], at: now)
    case .failed(let why): fail(why, at: now)
    }
  }

  private mutating func succeed(with gpus: [GPU], at now: Instant) {
    (listed, failure, failingSince) = (gpus, nil, nil)
  }

  /// Notes a failed run. The last list stays valid for a while (`GPUSettings.keep`), because a program that fails or is
  /// not found does not mean that a GPU was lost. The list becomes empty at once in two cases: the driver lists no GPU,
  /// or there is no driver and no GPU was ever seen. In the second case the program was installed without need, and the
  /// host has no GPU rather than an unknown number.
  private mutating func fail(_ why: String, at now: Instant) {
    let wasNeverSeen = (listed ?? []).isEmpty
    if names == [] || (names == nil && wasNeverSeen && !hasDriver) {
      listed = []
      failingSince = nil
    } else {
      failingSince = failingSince ?? now
    }
    failure = why
  }

  private func answer(at now: Instant) -> Answer {
    let isKept = failingSince.map { now - $0 < settings.keep } ?? true
    return (isKept ? listed : nil, isSource, failure ?? "")
  }
}

/// Parses the output of `nvidia-smi --query-gpu=index,uuid,name,memory.total --format=csv,noheader,nounits`.
enum NVIDIAOutput {
  /// Returns the GPUs in the order of their indexes, and all other lines as `words`. The memory is printed in MiB; a
  /// memory size that is missing (`[N/A]`, or not permitted) becomes 0. A GPU that is split by MIG counts as one GPU.
  static func parse(_ output: String) -> (gpus: [GPU], words: String) {
    let lines = output.split(whereSeparator: \.isNewline)
    let found = lines.compactMap(gpu).sorted { $0.index < $1.index }
    let words = lines.filter { gpu($0) == nil && !$0.trimmed.isEmpty }.map { String($0.trimmed) }
    return (found.map(\.gpu), words.joined(separator: "; "))
  }

  private static func gpu(_ line: Substring) -> (index: Int, gpu: GPU)? {
    let fields = line.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
    guard fields.count >= 4, let index = Int(fields[0]) else { return nil }
    let id = fields[1].hasPrefix("GPU-") ? String(fields[1]) : "nvidia:\(index)"
    let name = fields[2..<(fields.count - 1)].joined(separator: ", ")
    let mebibytes = fields.last.flatMap { Int64($0) } ?? 0
    return (index, GPU(id: id, name: name, memoryBytes: (0...(1 << 24)).contains(mebibytes) ? mebibytes << 20 : 0))
  }
}
