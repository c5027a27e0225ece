import BatonModel
import BatonProcess
import Foundation
import Testing

@testable import BatonWorker

@Suite("What a worker is told of its own configuration")
struct WorkerConfigurationTests {
  @Test("a worker that runs commands as root is warned, and no other is")
  func root() {
    var configuration = WorkerConfiguration(name: "desk", dataFolder: "/var/lib/baton", slots: 1)
    configuration.runsCommands = true
    #expect(configuration.warnings(user: 0).first?.contains("takes no job with a command") == true)
    configuration.sandbox.allowsRoot = true
    #expect(configuration.warnings(user: 0).count == 1)
    #expect(configuration.warnings(user: 0).first?.contains("so does every command of every job") == true)
    #expect(configuration.warnings(user: 1000).isEmpty)
    configuration.runsCommands = false
    #expect(configuration.warnings(user: 0).isEmpty)
  }

  @Test("the folders of secrets are hidden from commands: the usual one, the configured one, and systemd's")
  func secrets() throws {
    var configuration = WorkerConfiguration(name: "desk", dataFolder: "/var/lib/baton", slots: 1)
    configuration.sandbox.secretFolder = SecretFolder(path: "/srv/secrets", credentials: "/run/credentials/worker")
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let hidden = configuration.hidden(try WorkerFolders(data: folder), environment: [:])
    #expect(Set(hidden).isSuperset(of: ["/etc/baton/secrets", "/srv/secrets", "/run/credentials/worker"]))
  }
}
