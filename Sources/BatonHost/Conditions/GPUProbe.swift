package import BatonModel
package import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How GPUs are probed: the keys `gpu.interval` and `gpu.keep` of worker.yaml, and two times that cannot be set there.
/// Each default is Baton's own choice.
public struct GPUSettings: Hashable, Sendable {
  /// The time between two runs of `nvidia-smi` while the driver's list of GPUs stays the same (`gpu.interval`); by
  /// default 60 s. A run costs tens of milliseconds of processor time, and more if the driver has to wake the GPU.
  public var interval: Duration
  /// The time until the next run after a failure.
  package var retryInterval: Duration
  /// How long the last list stays valid while `nvidia-smi` fails (`gpu.keep`); by default 30 s.
  public var keep: Duration
  /// How long one run may take. The first run after a start of the host loads the driver, which takes longer.
  package var patience: Duration

  package init(
    interval: Duration = .seconds(60), retryInterval: Duration = .seconds(10), keep: Duration = .seconds(30),
    patience: Duration = .seconds(10)
  ) {
    self.interval = interval
    self.retryInterval = retryInterval
    self.keep = keep
    self.patience = patience
  }

  /// Creates the default settings.
  public init() { self.init(interval: .seconds(60)) }
}

/// Lists the GPUs of a host that can compute. NVIDIA's GPUs are found by `nvidia-smi`, all others by the kernel's
/// render nodes.
///
/// The order of the GPUs never changes during the life of the probe, because launches hold GPUs by their place in the
/// list. A GPU that vanishes keeps its place and is marked as absent. If a GPU with the same id comes back, it takes
/// its place again. New GPUs are appended. In the first list NVIDIA's GPUs come first, in the order of `nvidia-smi`.
package struct GPUProbe: Sendable {
  private let root: SystemRoot
  private let settings: GPUSettings
  private var nvidia: NVIDIAList
  private var drm = DRMList()
  private var places: [GPU] = []

  /// - Parameter searchPath: the folders of the worker's own `PATH`.
  package init(
    root: SystemRoot, settings: GPUSettings = GPUSettings(), command: SystemCommand = .system,
    searchPath: [String] = Self.ownSearchPath
  ) {
    self.root = root
    self.settings = settings
    nvidia = NVIDIAList(settings, command, searchPath: searchPath)
  }

  package static var ownSearchPath: [String] {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
  }

  /// Reads the GPUs. The list is unknown if `nvidia-smi` has failed for longer than `GPUSettings.keep`, or if NVIDIA's
  /// driver is there and `nvidia-smi` was never found. A GPU that merely cannot be read at the moment does not count as
  /// lost. A call without a run of `nvidia-smi` reads a few files; each run takes at most `GPUSettings.patience`.
  package mutating func read(at now: Instant) async -> Reading<[GPU]> {
    let card = await nvidia.read(root, at: now)
    let other = drm.read(root, at: now, every: settings.interval)
    let source = card.isSource ? (other.isEmpty ? "nvidia-smi" : "nvidia-smi, drm") : "drm"
    guard let listed = card.gpus else { return Reading(nil, source: source, raw: card.remark) }
    place(listed + other)
    let present = places.filter(\.isPresent)
    let names = present.isEmpty ? ["no GPU"] : present.map(\.name)
    let absent = places.filter { !$0.isPresent }.map { "absent: \($0.name)" }
    return Reading(
      places, source: source, raw: (names + absent + [card.remark]).filter { !$0.isEmpty }.joined(separator: "; "))
  }

  /// Updates the list of places: marks each place as present or absent, and appends GPUs with new ids.
  private mutating func place(_ found: [GPU]) {
    for index in places.indices { places[index].isPresent = false }
    for gpu in found {
      if let index = places.firstIndex(where: { $0.id == gpu.id }) {
        places[index] = gpu
      } else {
        places.append(gpu)
      }
    }
  }
}
