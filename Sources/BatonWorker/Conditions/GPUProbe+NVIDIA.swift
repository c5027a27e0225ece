import BatonModel

/// What `nvidia-smi` lists, asked as seldom as can be.
struct NVIDIAList {
  /// - `gpus`: nil if they are unknown.
  /// - `isSource`: whether there is such a program, and so something that it said.
  typealias Answer = (gpus: [GPU]?, isSource: Bool, remark: String)

  /// The driver makes a folder for each GPU that it has.
  private static let folder = "proc/driver/nvidia/gpus"
  private static let query = [
    "nvidia-smi", "--query-gpu=index,uuid,name,memory.total", "--format=csv,noheader,nounits",
  ]

  private let settings: GPUSettings
  private let command: SystemCommand
  private var names: [String]?
  private var askedAt: Instant?
  private var listed: [GPU]?
  private var failure: String?
  private var failingSince: Instant?
  private var isSource = false

  init(_ settings: GPUSettings, _ command: SystemCommand) {
    self.settings = settings
    self.command = command
  }

  mutating func read(_ root: SystemRoot, at now: Instant) async -> Answer {
    let present = root.exists(Self.folder) ? root.names(in: Self.folder) : nil
    if isDue(at: now, present) {
      (names, askedAt) = (present, now)
      take(await command.run(Self.query, settings.patience), at: now)
    }
    return answer(at: now)
  }

  private func isDue(at now: Instant, _ present: [String]?) -> Bool {
    guard let askedAt, present == names else { return true }
    return now - askedAt >= (failure == nil ? settings.interval : settings.retryInterval)
  }

  private mutating func take(_ answer: SystemCommand.Answer, at now: Instant) {
    if answer != .missing { isSource = true }
    switch answer {
    case .output(let text):
      let (gpus, words) = NVIDIAOutput.parse(text)
      if !gpus.isEmpty || words.isEmpty || text.contains("No devices were found") {
        succeed(with: gpus, at: now)
      } else {
        fail(words, at: now)
      }
    case .missing: isSource ? fail("nvidia-smi is gone", at: now) : succeed(with: [], at: now)
    case .failed(let why): fail(why, at: now)
    }
  }

  private mutating func succeed(with gpus: [GPU], at now: Instant) {
    (listed, failure, failingSince) = (gpus, nil, nil)
  }

  /// A program that fails is no loss of a GPU, unless the driver is there and says itself that it has none. A host where
  /// none was ever seen, and that has no driver, has none: a program that was installed for nothing is not unknown.
  private mutating func fail(_ why: String, at now: Instant) {
    let wasNeverSeen = (listed ?? []).isEmpty
    if names == [] || (names == nil && wasNeverSeen) {
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

/// The lines of `nvidia-smi --query-gpu=index,uuid,name,memory.total --format=csv,noheader,nounits`.
enum NVIDIAOutput {
  /// The GPUs by index, and every line that is none. Memory is in MiB; where it is not told (`[N/A]`, or not permitted)
  /// it is 0. A GPU that is split (MIG) is one GPU.
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
