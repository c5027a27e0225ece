package import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Under `gpu` in worker.yaml; Baton's own choice throughout.
package struct GPUSettings: Hashable, Sendable {
  /// How often NVIDIA's program runs while its driver's list stays the same (`interval`): a run costs tens of
  /// milliseconds of CPU, more where the driver has to wake the GPU.
  package var interval: Duration
  /// After a failure (`retryInterval`).
  package var retryInterval: Duration
  /// How long the last list holds while it cannot be renewed (`keep`).
  package var keep: Duration
  /// How long one run may take (`patience`): the first after a start loads the driver.
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
}

/// The GPUs of a host that can compute: NVIDIA's by `nvidia-smi`, all others by the kernel's render nodes.
///
/// Their order never changes while the probe lives, because launches hold GPUs by their place: one that vanishes keeps
/// its place and is absent, one that comes back takes it again by its id, and new ones follow at the end. At the start
/// NVIDIA's come first, in its own order.
package struct GPUProbe: Sendable {
  private let root: SystemRoot
  private let settings: GPUSettings
  private var nvidia: NVIDIAList
  private var drm = DRMList()
  private var places: [GPU] = []

  /// - Parameter searchPath: the worker's own `PATH`, in folders.
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

  /// Unknown if NVIDIA's program has failed for longer than the last list holds, or is not found where its driver is: a
  /// GPU that nobody can see at the moment is not lost. Takes `patience` at most, and a few files where the program need not run.
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
