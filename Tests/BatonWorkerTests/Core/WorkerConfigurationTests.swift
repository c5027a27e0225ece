import BatonModel
import BatonProcess
import ContractRows
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

  @Test("every place in which Baton keeps something on a host is hidden from commands, and nothing else", .refuses(30))
  func hidden() throws {
    var configuration = WorkerConfiguration(name: "desk", dataFolder: "/var/lib/baton", slots: 1)
    configuration.tokenFile = "/srv/token"
    configuration.sandbox.hidden = ["/srv/own"]
    configuration.sandbox.secretFolder = SecretFolder()
    let folder = NSTemporaryDirectory() + "baton-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let folders = try WorkerFolders(data: folder)
    let always =
      [folders.data, "/srv/token", "/run/user/\(geteuid())/baton", "/run/baton-coordinator", "/tmp/baton-\(geteuid())"]
      + ["/var/lib/baton", "/etc/baton/secrets", "/srv/own"]
    let users: [([String: String], [String])] = [
      ([:], []), (["HOME": "/home/ana"], ["/home/ana/.local/state/baton", "/home/ana/.config/baton"]),
      (
        ["XDG_STATE_HOME": "/a", "XDG_CONFIG_HOME": "/b", "XDG_RUNTIME_DIR": "/c", "RUNTIME_DIRECTORY": "/d"],
        ["/a/baton", "/b/baton", "/c/baton", "/d"]
      ),
    ]
    for (environment, more) in users {
      #expect(configuration.hidden(folders, environment: environment).sorted() == (always + more).sorted())
    }
  }
}
